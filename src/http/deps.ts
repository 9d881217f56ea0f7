import type { Verdicts } from '../calibration/verdicts.js'
import type { ReadProbes } from '../core/goal/goal-document.js'
import type {
  AuditAdmin,
  GoalAdmin,
  ReceiptAdmin,
  RunEngine,
  StandardsAdmin,
  TenantAdmin,
  WebhookAdmin,
} from '../engine/api.js'
import type { MemoryAdmin } from '../engine/journal/memory-desk.js'
import type { WorkspaceAdmin } from '../engine/journal/workspace-desk.js'
import type { Trail } from '../engine/ports/audit.js'
import type { Clock, Ids } from '../engine/ports/clock.js'
import type { JournalKeeping } from '../engine/ports/journal.js'
import type { KeyStore } from '../engine/ports/keys.js'
import type { Log } from '../engine/ports/log.js'
import type { RunIndex } from '../engine/ports/run-index.js'
import type { CommitmentAdmin } from '../engine/commitments/commitment-admin.js'
import type { Transcripts } from '../engine/queries/transcript.js'
import type { TurnTaking } from '../timing/turns.js'
import type { AgentInventoryEntry } from '../wire/agents.js'
import type { ToolDescriptor, ToolServerDoc } from '../wire/tools.js'
import type { KeyCache } from './auth/key-cache.js'
import type { HttpConfig } from './config.js'
import type { Idempotency, KeptResponses } from './idempotency.js'
import type { Route } from './route.js'
import type { Serving } from './serving.js'
import type { StreamRegistry } from './streaming/stream-registry.js'

/** What the composition root hands to the HTTP edge. There is no store here: keys and remembered responses are small ports. */
export type AppDeps = {
  readonly engine: RunEngine
  readonly goals: GoalAdmin
  readonly commitments: CommitmentAdmin
  /** Probes by which the host judges goals, as a key may have them. */
  readonly readProbes: ReadProbes
  readonly keys: KeyStore
  readonly responses: KeptResponses
  readonly audit: AuditAdmin
  readonly receipts: ReceiptAdmin
  /** What is still possible for a goal at worst, and what was used, signed; undefined where there is no such goal. */
  readonly certificates: {
    issue(tenant: string, goalId: string): Promise<Awaited<ReturnType<ReceiptAdmin['issue']>> | undefined>
  }
  /** What tenants have. */
  readonly usage: Pick<RunIndex, 'usageOf'>
  readonly webhooks: WebhookAdmin
  readonly standards: StandardsAdmin
  readonly tenants: TenantAdmin
  readonly verdicts: Verdicts
  readonly transcripts: Transcripts
  /** Who did what to which things of a tenant. */
  readonly trail: Trail
  readonly agents: AgentDirectory
  readonly memory: MemoryAdmin
  readonly workspace: WorkspaceAdmin
  /** What happens to tenants outside of their runs. */
  readonly stream: Pick<JournalKeeping, 'readTenantEvents'>
  /** Secrets of the links that answer interrupts: the first signs, all verify. */
  readonly tokenSecrets: readonly string[]
  readonly clock: Clock
  readonly ids: Ids
  readonly config: HttpConfig
  readonly log: Log
  /** Closed while the host starts or stops; without it, requests are always taken. */
  readonly serving?: Serving
  /** Whose turn it is among tenants that read much, or send much; its own, when absent. */
  readonly turns?: TurnTaking
  /** Conformance workflows that are registered by now; advertised in conformance mode only. */
  readonly fixtures?: () => readonly string[]
  /** Further rows of the route table, such as the conformance seams. */
  readonly routes?: readonly Route[]
}

/** Who can be given work, and with what. The same for every tenant (`installScope: host`). */
export interface AgentDirectory {
  /** Sorted by id. */
  list(): readonly AgentInventoryEntry[]
  get(agentId: string): AgentInventoryEntry | undefined
  /** Those of these tools that are not there, or whose server does not answer. */
  toolsLacking(toolIds: readonly string[], signal: AbortSignal): Promise<ReadonlySet<string>>
  /** Those of servers that cannot be reached now are left out. */
  tools(signal: AbortSignal): Promise<readonly ToolDescriptor[]>
  /** How the configured ones are doing, and what they wrote last. */
  toolServers(signal: AbortSignal): Promise<readonly ToolServerDoc[]>
}

/** What route handlers share within one app. */
export type Edge = AppDeps & {
  readonly keyCache: KeyCache
  readonly idempotency: Idempotency
  readonly streams: StreamRegistry
  /** Readers of logs take turns, and so do those who send long bodies. */
  readonly turns: TurnTaking
  /** `config.engineVersion` as events spell it. */
  readonly engineVersion: string
}
