import { type Static, Type } from 'typebox'
import type { JsonObject } from '../core/json.js'
import { patternOf } from '../core/names.js'
import { MAX_CHANGES } from '../core/replay/changes.js'
import { OneOf } from '../core/schema/kinds.js'
import { ConfigurableSchema } from '../core/workflow/configurable.js'
import { AgentRef } from './agent-ref.js'
import { ID_PATTERNS, MemoryScope, RunId, ScopeId, Tag, Timestamp, WorkflowId, WorkId } from './ids.js'
import { InterruptDoc } from './interrupt.js'
import { Convergence, GateSnapshot, Spent } from './verification.js'

export const RUN_STATUSES = [
  'pending',
  'running',
  'paused',
  'waiting-approval',
  'waiting-input',
  'waiting-external',
  'completed',
  'failed',
  'cancelling',
  'cancelled',
] as const

export const FORK_MODES = ['replay', 'branch'] as const

export const MAX_BULK_RUNS = 100
export const MAX_METADATA_BYTES = 8192
export const MAX_METADATA_DEPTH = 4

const closed = { additionalProperties: false }
const JsonMap = Type.Unsafe<JsonObject>({ type: 'object' })
const Reason = Type.Optional(Type.String({ maxLength: 512 }))

const Tags = Type.Array(Tag, { maxItems: 100 })

/** The core judges it, for a child's and a fork's options too, so that the schema is shown here and not checked. */
const Configurable = Type.Unsafe<JsonObject>({
  type: 'object',
  description: 'Options of the run. The host understands those of x-reserved; others are for the workflow.',
  'x-reserved': ConfigurableSchema.properties,
})

export const CreateRunBody = Type.Object(
  {
    workflowId: Type.Optional(WorkId),
    agentId: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 256,
        pattern: ID_PATTERNS.agentId,
        description: 'In place of workflowId: the run is that agent at work on inputs.task, or on all inputs',
      }),
    ),
    inputs: Type.Optional(JsonMap),
    tenantId: Type.Optional(Type.String({ minLength: 1, maxLength: 128 })),
    scopeId: Type.Optional(ScopeId),
    configurable: Type.Optional(Configurable),
    tags: Type.Optional(Tags),
    metadata: Type.Optional(JsonMap),
    callbackUrl: Type.Optional(Type.String({ description: 'Not supported yet; refused with validation_error' })),
    residency: Type.Optional(Type.Unknown({ description: 'Not supported yet; refused with validation_error' })),
    mode: Type.Optional(OneOf(['eval'], { description: 'Refused with capability_not_provided' })),
    evalSuiteRef: Type.Optional(Type.Unknown({ description: 'Only with mode' })),
    assay: Type.Optional(
      Type.Object(
        {
          memoryScope: Type.Optional(
            Type.String({ ...MemoryScope, description: 'Where the run remembers; scopeId where left out' }),
          ),
        },
        { ...closed, description: 'What this host does beyond the protocol' },
      ),
    ),
  },
  { ...closed, anyOf: [{ required: ['workflowId'] }, { required: ['agentId'] }] },
)
export type CreateRunBody = Static<typeof CreateRunBody>

export const CreateRunAnswer = Type.Object({
  runId: RunId,
  status: OneOf(['pending', 'running', 'waiting-approval', 'waiting-input', 'waiting-external']),
  eventsUrl: Type.String(),
  statusUrl: Type.String(),
})

export const ChatBody = Type.Object(
  {
    message: Type.String({
      minLength: 1,
      maxLength: 100_000,
      description: 'Mentions one agent as @AGENT, by its id or the last part of it; the rest is the task',
    }),
    conversationId: Type.Optional(Type.String({ ...ScopeId, description: 'Becomes the scope of the run' })),
    configurable: Type.Optional(Configurable),
  },
  closed,
)
export type ChatBody = Static<typeof ChatBody>

export const ChatAnswer = Type.Object({
  ...CreateRunAnswer.properties,
  agentId: Type.String(),
  conversationId: Type.Optional(Type.String()),
})

export const ForkBody = Type.Object(
  {
    mode: OneOf(FORK_MODES),
    fromSeq: Type.Optional(
      Type.Integer({ minimum: 0, description: 'Events before it are shared; required for a branch, 0 for a replay' }),
    ),
    runOptionsOverlay: Type.Optional(
      Type.Object(
        { configurable: Type.Optional(JsonMap), tags: Type.Optional(Tags), metadata: Type.Optional(JsonMap) },
        { ...closed, description: 'What a branch does otherwise than its source; a replay takes none' },
      ),
    ),
    assay: Type.Optional(
      Type.Object(
        {
          set: Type.Optional(
            Type.Unsafe<JsonObject>({
              type: 'object',
              maxProperties: MAX_CHANGES,
              description:
                'What a branch changes of its agents and nodes, by name: agents.ID.model, agents.ID.modelClass, or nodes.ID.config.FIELD, which needs workflows:write as well',
            }),
          ),
          memoryAsOf: Type.Optional(
            Type.Integer({ minimum: 1, description: 'A branch remembers what its source saw before this event' }),
          ),
        },
        { ...closed, description: 'What this host does beyond the protocol; a replay takes none of it' },
      ),
    ),
  },
  closed,
)
export type ForkBody = Static<typeof ForkBody>

export const ForkAnswer = Type.Object({
  runId: RunId,
  sourceRunId: RunId,
  fromSeq: Type.Integer({ minimum: 0 }),
  mode: OneOf(FORK_MODES),
  status: OneOf(RUN_STATUSES),
  eventsUrl: Type.String(),
})

export const CancelBody = Type.Object({ reason: Reason }, closed)
const CANCELLED = OneOf(['cancelling', 'cancelled', 'completed', 'failed'])
export const CancelAnswer = Type.Object({ runId: RunId, status: CANCELLED })

export const BulkCancelBody = Type.Object(
  {
    runIds: Type.Array(Type.String({ minLength: 1 }), {
      minItems: 1,
      maxItems: MAX_BULK_RUNS,
      'x-limit-name': 'maxRunIds',
    }),
    reason: Reason,
  },
  closed,
)
export const BulkCancelAnswer = Type.Object({
  results: Type.Array(
    Type.Union([
      Type.Object({ runId: Type.String(), ok: Type.Literal(true), status: OneOf(RUN_STATUSES) }),
      Type.Object({
        runId: Type.String(),
        ok: Type.Literal(false),
        error: Type.Object({ code: Type.String(), message: Type.String() }),
      }),
    ]),
  ),
})

export const PauseBody = Type.Object(
  { reason: Reason, drainPolicy: Type.Optional(OneOf(['immediate', 'drain-current-node'])) },
  closed,
)
export const PauseAnswer = Type.Object({ runId: RunId, status: OneOf(RUN_STATUSES), pausedAt: Timestamp })
export const ResumeBody = Type.Object({ reason: Reason }, closed)
export const ResumeAnswer = Type.Object({ runId: RunId, status: OneOf(RUN_STATUSES), resumedAt: Timestamp })

export const ListRunsQuery = Type.Object({
  status: Type.Optional(
    Type.Array(OneOf(RUN_STATUSES), { description: 'Repeat the parameter or separate by commas', maxItems: 10 }),
  ),
  workflowId: Type.Optional(WorkflowId),
  tag: Type.Optional(Tag),
  parentRunId: Type.Optional(RunId),
  goalId: Type.Optional(Type.String({ pattern: ID_PATTERNS.goalId, description: 'Contributing runs of this goal' })),
  host: Type.Optional(
    OneOf(['true', 'false'], {
      description: 'true lists the runs of the host’s own workflows too; one that workflowId names is listed anyway',
    }),
  ),
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 200, default: 50 })),
  cursor: Type.Optional(Type.String({ minLength: 1, maxLength: 512, description: '`nextCursor` of the page before' })),
})

const GatedBy = Type.Optional(
  Type.Array(Type.String(), {
    description:
      'Blocking gates of the parent: nothing is made of what this run leaves unless they pass it. Whether they have, the parent says: agent.verified with this run as its target',
  }),
)

export const RunRowAnswer = Type.Object({
  runId: RunId,
  workflowId: Type.String(),
  status: OneOf(RUN_STATUSES),
  tags: Type.Array(Type.String()),
  scopeId: Type.Optional(Type.String()),
  parentRunId: Type.Optional(RunId),
  parentNodeId: Type.Optional(Type.String()),
  gatedBy: GatedBy,
  startedAt: Timestamp,
  updatedAt: Timestamp,
  completedAt: Type.Optional(Timestamp),
  eventCount: Type.Integer({ minimum: 0 }),
})
export type RunRowAnswer = Static<typeof RunRowAnswer>

export const ListRunsAnswer = Type.Object({
  runs: Type.Array(RunRowAnswer),
  nextCursor: Type.Union([Type.String(), Type.Null()]),
})

const WORKER_STATUSES = ['pending', 'dispatching', 'running', 'completed', 'failed', 'cancelled'] as const

const NodeSnapshot = Type.Object({
  status: OneOf([
    'pending',
    'running',
    'suspended',
    'interrupted',
    'retrying',
    'completed',
    'failed',
    'skipped',
    'cancelled',
  ]),
  attempt: Type.Optional(Type.Integer({ minimum: 0 })),
  childRunId: Type.Optional(RunId),
  workers: Type.Optional(
    Type.Array(
      Type.Object({
        workerId: Type.String(),
        status: OneOf(WORKER_STATUSES),
        childRunId: Type.Optional(RunId),
      }),
      { description: 'While the node hands work over: each worker, in the order in which results are merged' },
    ),
  ),
  invocation: Type.Optional(
    Type.Object(
      {
        invocationId: Type.String(),
        agentId: Type.String(),
        provider: Type.String(),
        model: Type.String(),
        phase: OneOf(['thinking', 'using-tool', 'between']),
        modelCalls: Type.Integer({ minimum: 0 }),
      },
      { description: 'While an agent is at work in the node' },
    ),
  ),
  error: Type.Optional(Type.Object({ code: Type.String(), message: Type.String() })),
})
export type NodeSnapshot = Static<typeof NodeSnapshot>

const DECISION_KINDS = ['next-worker', 'terminate', 'clarify', 'escalate', 'ask-user'] as const

const LoopSnapshot = Type.Object({
  iteration: Type.Integer({ minimum: 1, description: 'Turns the orchestrator has taken' }),
  phase: OneOf(['deciding', 'dispatching', 'suspended', 'done']),
  decision: Type.Object(
    {
      kind: OneOf(DECISION_KINDS),
      nextWorkerIds: Type.Optional(Type.Array(Type.String())),
      confidence: Type.Optional(Type.Number({ minimum: 0, maximum: 1 })),
    },
    { description: 'The latest decision, or what a person made of it; its texts are in the log' },
  ),
  limit: Type.Optional(
    Type.Integer({ minimum: 1, description: 'Turns the run asked for at most; those the host allows hold too' }),
  ),
})
export type LoopSnapshot = Static<typeof LoopSnapshot>

const Amount = Type.Number({ minimum: 0 })
const Count = Type.Integer({ minimum: 0 })

/** Of the run and its children together. */
const SpendSnapshot = Type.Object({
  spend: Type.Object({
    ...Spent.properties,
    execution: Type.Optional(Spent),
    verification: Type.Optional(Spent),
  }),
  held: Type.Optional(
    Type.Object(Spent.properties, {
      description:
        'The most that calls without an answer, and children that were let go, may have cost: nobody knows, so it is no part of spend, and counts against the ceilings',
    }),
  ),
  budget: Type.Optional(
    Type.Object(
      {
        maxTokens: Type.Optional(Count),
        maxCostUsd: Type.Optional(Amount),
        maxToolCalls: Type.Optional(Count),
        maxRetries: Type.Optional(Count),
      },
      { description: 'The ceilings that hold; what is not here is not bounded' },
    ),
  ),
  gates: Type.Optional(Type.Array(GateSnapshot, { description: 'Where results stand that gates have judged' })),
})

export const RunSnapshot = Type.Object({
  runId: RunId,
  workflowId: Type.String({ minLength: 1 }),
  status: OneOf(RUN_STATUSES),
  owner: Type.Optional(
    Type.Object({ tenant: Type.String(), principal: Type.Optional(Type.String()) }, { additionalProperties: false }),
  ),
  currentNodeId: Type.Optional(Type.String()),
  startedAt: Type.Optional(Timestamp),
  completedAt: Type.Optional(Timestamp),
  agent: Type.Optional(AgentRef),
  runOrchestrator: Type.Optional(AgentRef),
  loop: Type.Optional(LoopSnapshot),
  convergence: Type.Optional(Convergence),
  nodeStates: Type.Optional(Type.Record(Type.String(), NodeSnapshot)),
  inputs: Type.Optional(JsonMap),
  variables: Type.Optional(JsonMap),
  channels: Type.Optional(JsonMap),
  outputs: Type.Optional(JsonMap),
  error: Type.Optional(
    Type.Object({ code: Type.String(), message: Type.String(), details: Type.Optional(JsonMap) }, closed),
  ),
  tags: Type.Optional(Type.Array(Type.String())),
  metadata: Type.Optional(JsonMap),
  configurable: Type.Optional(JsonMap),
  parentRunId: Type.Optional(RunId),
  parentNodeId: Type.Optional(Type.String()),
  gatedBy: GatedBy,
  forkedFrom: Type.Optional(
    Type.Object({
      runId: RunId,
      fromSeq: Type.Integer({ minimum: 0 }),
      mode: OneOf(FORK_MODES),
      sourceLength: Type.Integer({ minimum: 0, description: 'Events the source had when the fork was made' }),
    }),
  ),
  diverged: Type.Optional(
    Type.Literal(true, { description: 'A replay that told something otherwise than its source' }),
  ),
  interrupt: Type.Optional(InterruptDoc),
  metrics: Type.Optional(Type.Object({ openwopCost: Type.Object({ usd: Amount }) })),
  assay: Type.Optional(SpendSnapshot),
  childRuns: Type.Optional(
    Type.Array(Type.Object({ runId: RunId, status: OneOf(RUN_STATUSES) }), {
      description: 'The latest 100; GET /v1/runs?parentRunId= lists all',
    }),
  ),
  eventLogSchemaVersion: Type.Integer(),
})
export type RunSnapshot = Static<typeof RunSnapshot>

/** What may have led to a run (R-XHOST-11). */
const CAUSES = ['mcp-tool-call', 'a2a-message', 'core.subWorkflow', 'core.dispatch'] as const

/** The protocol's RunAncestryResponse. */
export const AncestryAnswer = Type.Object(
  {
    runId: RunId,
    hostId: Type.String({ pattern: patternOf('hostId'), description: 'The host that answers' }),
    parent: Type.Union([
      Type.Null({ description: 'Nobody’s child: a client has started it, or it is a fork' }),
      Type.Object(
        {
          runId: RunId,
          hostId: Type.String({ pattern: patternOf('hostId') }),
          wellKnownUrl: Type.Optional(
            Type.String({ format: 'uri', description: 'Discovery of the parent’s host, where that is another one' }),
          ),
          cause: OneOf(CAUSES, { description: 'How the parent has started it; whoever judges was dispatched' }),
        },
        { additionalProperties: false },
      ),
    ]),
  },
  { additionalProperties: false },
)
export type AncestryAnswer = Static<typeof AncestryAnswer>
