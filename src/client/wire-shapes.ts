import type { Static } from 'typebox'
import type { AgentInventoryEntry, ListAgentsAnswer } from '../wire/agents.js'
import type { AuditAnswer, PublicKeysAnswer } from '../wire/audit.js'
import type { CalibrationAnswer, EstimateDoc, ListVerdictsAnswer } from '../wire/calibration.js'
import type { DebugBundle as BundleSchema } from '../wire/debug-bundle.js'
import type { CompareAnswer, DiffAnswer } from '../wire/diff.js'
import type { RunEventDoc as EventSchema, WithheldAnswer } from '../wire/event.js'
import type { LinkAnswer, ListInterruptsAnswer, ResolveAnswer } from '../wire/interrupt.js'
import type {
  ConsolidateAnswer,
  ForgetMemoryAnswer,
  ListMemoryAnswer,
  ListScopesAnswer,
  MemoryEntryAnswer,
} from '../wire/journal/memory.js'
import type { FileInfo as FileSchema, ListFilesAnswer } from '../wire/journal/workspace.js'
import type { CreateKeyAnswer, CreateKeyBody, ListKeysAnswer, OwnKeyAnswer } from '../wire/key.js'
import type {
  AncestryAnswer,
  ChatAnswer,
  ChatBody,
  CreateRunBody,
  ForkAnswer,
  ForkBody,
  ListRunsAnswer,
  RUN_STATUSES,
  RunSnapshot as Snapshot,
} from '../wire/run.js'
import type { CreateGoalBody, GoalAnswer, GoalPollAnswer, ListGoalsAnswer } from '../wire/standing/goal.js'
import type { GoalDetailsAnswer } from '../wire/standing/goal-details.js'
import type { ListSchedulesAnswer, ScheduleAnswer } from '../wire/standing/schedule.js'
import type { StandardAnswer, StandardShown } from '../wire/standard.js'
import type { TenantAnswer } from '../wire/tenant.js'
import type { ListToolServersAnswer, ListToolsAnswer, ToolDescriptor } from '../wire/tools.js'
import type { CreatedRunAnswer } from '../wire/trail/created-run.js'
import type { RetryAnswer } from '../wire/trail/retry.js'
import type { TrailAnswer } from '../wire/trail/audit-trail.js'
import type { TranscriptAnswer } from '../wire/trail/transcript.js'
import type { ListVerificationsAnswer, VerificationAnswer } from '../wire/verification.js'
import type {
  CreateWebhookAnswer,
  CreateWebhookBody,
  ListDeliveriesAnswer,
  ListWebhooksAnswer,
} from '../wire/webhook.js'
import type { CheckWorkflowAnswer, ListWorkflowsAnswer, RegisteredWorkflowAnswer } from '../wire/workflow.js'

/** The wire's types under the client's names: types only, so that no schema is loaded to make a call. */

/** A document whose fields are not typed here. */
export type Fields = { readonly [name: string]: unknown }
export type WireError = { readonly code: string; readonly message: string; readonly details?: Fields }

/** Where a run is on its way. */
export type RunStatus = (typeof RUN_STATUSES)[number]
/** A run as it is now. */
export type RunSnapshot = Snapshot
/** A page of runs; `nextCursor` is null on the last one. */
export type RunPage = Static<typeof ListRunsAnswer>
/** A run as lists show it. */
export type RunRow = RunPage['runs'][number]
/** What is to be run: a workflow or an agent, with its inputs and options. */
export type RunRequest = CreateRunBody
/** A run that was begun. */
export type CreatedRun = Static<typeof CreatedRunAnswer>
/** An event of a run's log. */
export type RunEventDoc = Readonly<Static<typeof EventSchema>>

/** A message that mentions an agent. */
export type ChatRequest = ChatBody
/** The run of the agent that was mentioned. */
export type ChatStarted = Static<typeof ChatAnswer>

/** An agent as the inventory has it. */
export type AgentInfo = Static<typeof AgentInventoryEntry>
/** The agents that a host knows. */
export type AgentList = Static<typeof ListAgentsAnswer>
/** A tool that agents may be given. */
export type ToolInfo = Static<typeof ToolDescriptor>
/** The tools that agents may be given. */
export type ToolList = Static<typeof ListToolsAnswer>

/** A registered workflow, without its definition. */
export type WorkflowInfo = Static<typeof RegisteredWorkflowAnswer>
/** The workflows that can be run. */
export type WorkflowList = Static<typeof ListWorkflowsAnswer>
/** What the host makes of a definition that it was shown. */
export type WorkflowCheck = Static<typeof CheckWorkflowAnswer>

/** What work is held to, by the name of its collection. */
export type StandardCollection = 'gates' | 'intents' | 'knowledge'
/** A gate, an intent or knowledge that is registered, without its content. */
export type StandardInfo = StandardAnswer
/** The same with its content. */
export type StandardDocument = Static<typeof StandardShown>
/** What is registered, under the name of its collection. */
export type StandardList = { readonly [Collection in StandardCollection]?: readonly StandardInfo[] }

/** Whether a tenant is there, is being erased, or was. */
export type Tenant = Static<typeof TenantAnswer>
/** A key to be made: for whom, what it may do, until when. */
export type NewKey = Static<typeof CreateKeyBody>
/** A key that was made, with the key itself. */
export type CreatedKey = Static<typeof CreateKeyAnswer>
/** What was found in a part of the checkpoints. */
export type AuditSlice = AuditAnswer
/** The keys by which receipts and checkpoints are checked: a JWK set. */
export type PublicKeys = PublicKeysAnswer
/** The keys of a tenant, without the keys themselves. */
export type KeyList = Static<typeof ListKeysAnswer>
/** Whose key asks, and what it may do. */
export type OwnKey = Static<typeof OwnKeyAnswer>

/** A page of open questions; `nextCursor` is null on the last one. */
export type InterruptPage = Static<typeof ListInterruptsAnswer>
/** A question that waits for an answer. */
export type OpenInterrupt = InterruptPage['interrupts'][number]
/** An interrupt as a run's log tells it; what only the server knows may be missing. */
export type AskedInterrupt = Omit<OpenInterrupt, 'shownHash'> & { readonly shownHash?: string }
/** What an answer has led to. */
export type InterruptAnswered = Static<typeof ResolveAnswer> & { readonly status: RunStatus }
/** For what a link is good, for whom, and how long. */
export type LinkRequest = {
  readonly expiresInSeconds?: number
  readonly intent?: InterruptLink['intent']
  readonly subject?: string
}
/** A link that was made. */
export type InterruptLink = Static<typeof LinkAnswer>

/** How a run is to be forked, and from which event on. */
export type ForkRequest = ForkBody
/** A run that shares the beginning of another. */
export type ForkedRun = Static<typeof ForkAnswer>
/** Where the logs of two runs differ. */
export type RunDiff = Static<typeof DiffAnswer>
export type EventDiff = RunDiff['eventDiffs'][number]
/** What two runs with a common past did after it, step by step. */
export type RunComparison = Static<typeof CompareAnswer>
/** A run with everything that helps to find out what happened. */
export type DebugBundle = Static<typeof BundleSchema>

/** Who has started a run, on which host and how; `parent` is null for a run that a client has started, and for a fork. */
export type RunAncestry = AncestryAnswer

/** What gates have made of a run's results. */
export type VerificationList = Static<typeof ListVerificationsAnswer>
/** What the log of a run keeps from its readers, and why. */
export type WithheldList = Static<typeof WithheldAnswer>
export type VerificationRow = VerificationList['verifications'][number]
/** One judgement of a gate, with votes, evidence and findings. */
export type Verification = VerificationAnswer

/** What agents of a run were told and have said. */
export type Transcript = Static<typeof TranscriptAnswer>

/** Who did what to which things of a tenant. */
export type AuditTrail = Static<typeof TrailAnswer>

/** MCP servers as they are now. */
export type ToolServers = Static<typeof ListToolServersAnswer>

/** What a run that is tried again has come to: the run itself, or the one that goes on from it. */
export type RetriedRun = Static<typeof RetryAnswer>

/** How good the judges of a gate have been. */
export type Calibration = CalibrationAnswer
export type Estimate = Static<typeof EstimateDoc>
/** What a gate has said of which results. */
export type VerdictList = Static<typeof ListVerdictsAnswer>
export type JudgedResult = VerdictList['verdicts'][number]

/** Who is to be told of which events. */
export type NewWebhook = Static<typeof CreateWebhookBody>
/** A subscription that was made, with its secret. */
export type WebhookCreated = Static<typeof CreateWebhookAnswer>
/** Who is told of events. */
export type WebhookList = Static<typeof ListWebhooksAnswer>
/** What was delivered to a subscriber. */
export type WebhookDeliveries = Static<typeof ListDeliveriesAnswer>

/** When a workflow is run by itself, and how that goes. */
export type ScheduleInfo = Static<typeof ScheduleAnswer>
/** Schedules, and where the next page begins. */
export type ScheduleList = Static<typeof ListSchedulesAnswer>

/** What a goal is to be. */
export type NewGoalDocument = CreateGoalBody
/** A goal, as the protocol shows it. */
export type GoalInfo = GoalAnswer
/** Goals, and where the next page begins. */
export type GoalList = Static<typeof ListGoalsAnswer>
/** What else there is to know of a goal. */
export type GoalDetails = GoalDetailsAnswer
/** What is new in the log of a goal. */
export type GoalEvents = Static<typeof GoalPollAnswer>

/** An entry of memory; lists cut long ones. */
export type MemoryEntry = MemoryEntryAnswer
/** Entries of memory. */
export type MemoryList = Static<typeof ListMemoryAnswer>
/** Scopes that a tenant has memory in. */
export type MemoryScopes = Static<typeof ListScopesAnswer>
/** What forgetting an entry has left: how many runs hold a copy. */
export type MemoryForgotten = ForgetMemoryAnswer
/** What a consolidation found and left. */
export type MemoryConsolidated = Static<typeof ConsolidateAnswer>
/** A file of the workspace, without its content. */
export type FileInfo = FileSchema
/** Files of the workspace. */
export type FileList = Static<typeof ListFilesAnswer>

/** Which runs are listed. */
export type RunFilter = {
  /** Contributing runs of this goal. */
  readonly goalId?: string
  readonly status?: string
  readonly workflowId?: string
  readonly tag?: string
  /** The runs of the host's own workflows, too. */
  readonly host?: 'true'
  readonly limit?: number
  readonly cursor?: string
}
