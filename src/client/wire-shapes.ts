import type { Static } from 'typebox'
import type { AgentInventoryEntry, ListAgentsAnswer } from '../wire/agents.js'
import type { AuditAnswer } from '../wire/audit.js'
import type { CalibrationAnswer, EstimateDoc, ListVerdictsAnswer } from '../wire/calibration.js'
import type { DebugBundle as BundleSchema } from '../wire/debug-bundle.js'
import type { DiffAnswer } from '../wire/diff.js'
import type { RunEventDoc as EventSchema, WithheldAnswer } from '../wire/event.js'
import type { LinkAnswer, ListInterruptsAnswer, ResolveAnswer } from '../wire/interrupt.js'
import type { CreateKeyAnswer, CreateKeyBody, ListKeysAnswer, OwnKeyAnswer } from '../wire/key.js'
import type {
  ChatAnswer,
  ChatBody,
  CreateRunAnswer,
  CreateRunBody,
  ForkAnswer,
  ForkBody,
  ListRunsAnswer,
  RUN_STATUSES,
  RunSnapshot as Snapshot,
} from '../wire/run.js'
import type { StandardAnswer, StandardShown } from '../wire/standard.js'
import type { TenantAnswer } from '../wire/tenant.js'
import type { ListToolsAnswer, ToolDescriptor } from '../wire/tools.js'
import type { ListVerificationsAnswer, VerificationAnswer } from '../wire/verification.js'
import type {
  CreateWebhookAnswer,
  CreateWebhookBody,
  ListDeliveriesAnswer,
  ListWebhooksAnswer,
} from '../wire/webhook.js'
import type { CheckWorkflowAnswer, ListWorkflowsAnswer, RegisteredWorkflowAnswer } from '../wire/workflow.js'

/** The wire's types under the client's names: types only, so that no schema is loaded to make a call. */

export type Fields = { readonly [name: string]: unknown }
export type WireError = { readonly code: string; readonly message: string; readonly details?: Fields }

export type RunStatus = (typeof RUN_STATUSES)[number]
export type RunSnapshot = Snapshot
export type RunPage = Static<typeof ListRunsAnswer>
export type RunRow = RunPage['runs'][number]
export type RunRequest = CreateRunBody
export type CreatedRun = Static<typeof CreateRunAnswer>
export type RunEventDoc = Readonly<Static<typeof EventSchema>>

export type ChatRequest = ChatBody
export type ChatStarted = Static<typeof ChatAnswer>

export type AgentInfo = Static<typeof AgentInventoryEntry>
export type AgentList = Static<typeof ListAgentsAnswer>
export type ToolInfo = Static<typeof ToolDescriptor>
export type ToolList = Static<typeof ListToolsAnswer>

export type WorkflowInfo = Static<typeof RegisteredWorkflowAnswer>
export type WorkflowList = Static<typeof ListWorkflowsAnswer>
export type WorkflowCheck = Static<typeof CheckWorkflowAnswer>

/** What work is held to, by the name of its collection. */
export type StandardCollection = 'gates' | 'intents' | 'knowledge'
export type StandardInfo = StandardAnswer
export type StandardDocument = Static<typeof StandardShown>
export type StandardList = { readonly [Collection in StandardCollection]?: readonly StandardInfo[] }

export type Tenant = Static<typeof TenantAnswer>
export type NewKey = Static<typeof CreateKeyBody>
export type CreatedKey = Static<typeof CreateKeyAnswer>
export type AuditSlice = AuditAnswer
export type KeyList = Static<typeof ListKeysAnswer>
export type OwnKey = Static<typeof OwnKeyAnswer>

export type InterruptPage = Static<typeof ListInterruptsAnswer>
export type OpenInterrupt = InterruptPage['interrupts'][number]
/** An interrupt as a run's log tells it; what only the server knows may be missing. */
export type AskedInterrupt = Omit<OpenInterrupt, 'shownHash'> & { readonly shownHash?: string }
export type InterruptAnswered = Static<typeof ResolveAnswer> & { readonly status: RunStatus }
export type LinkRequest = {
  readonly expiresInSeconds?: number
  readonly intent?: InterruptLink['intent']
  readonly subject?: string
}
export type InterruptLink = Static<typeof LinkAnswer>

export type ForkRequest = ForkBody
export type ForkedRun = Static<typeof ForkAnswer>
export type RunDiff = Static<typeof DiffAnswer>
export type EventDiff = RunDiff['eventDiffs'][number]
export type DebugBundle = Static<typeof BundleSchema>

export type VerificationList = Static<typeof ListVerificationsAnswer>
export type WithheldList = Static<typeof WithheldAnswer>
export type VerificationRow = VerificationList['verifications'][number]
export type Verification = VerificationAnswer

export type Calibration = CalibrationAnswer
export type Estimate = Static<typeof EstimateDoc>
export type VerdictList = Static<typeof ListVerdictsAnswer>
export type JudgedResult = VerdictList['verdicts'][number]

export type NewWebhook = Static<typeof CreateWebhookBody>
export type WebhookCreated = Static<typeof CreateWebhookAnswer>
export type WebhookList = Static<typeof ListWebhooksAnswer>
export type WebhookDeliveries = Static<typeof ListDeliveriesAnswer>
