import type { Space } from '../../core/journal/place.js'
import type { Refusal } from '../../core/problem.js'
import type { QuotasOf, Weights } from '../../core/quotas.js'
import type { RunLimits } from '../../core/run/decision-context.js'
import type { NodeTypes } from '../../core/workflow/compile.js'
import type { TurnTaking } from '../../timing/turns.js'
import type { Agents, Vault } from '../ports/agents.js'
import type { Announcer } from '../ports/announcer.js'
import type { Calendar } from '../ports/calendar.js'
import type { Clock, Ids } from '../ports/clock.js'
import type { JournalDesk } from '../ports/desk.js'
import type { Log } from '../ports/log.js'
import type { Peers } from '../ports/peers.js'
import type { Performer, StepActor } from '../ports/performer.js'
import type { SchemaChecker } from '../ports/schema-checker.js'
import type { Store } from '../ports/store.js'
import type { Today } from '../ports/today.js'
import type { Inspector, Predicates, Records, Standards } from '../ports/verification.js'
import type { SchedulingOptions } from '../schedules/schedules.js'
import type { OffFor } from '../plans/plans.js'

/** What an engine is made of. */
export type EngineDeps = {
  readonly store: Store
  readonly clock: Clock
  readonly ids: Ids
  readonly schemas: SchemaChecker
  readonly log: Log
  readonly nodeTypes: NodeTypes
  /** What node types may require of this host. */
  readonly capabilities: ReadonlySet<string>
  readonly offFor?: OffFor
  /** Outside effects by provider name, and those of nodes without an agent by their type. */
  readonly performers: ReadonlyMap<string, Performer>
  readonly actors?: ReadonlyMap<string, StepActor>
  /** Checks the shape of a workflow definition. */
  readonly definitionShape: (value: unknown) => Refusal | undefined
  /** Who wants to be told of events; nobody when absent. */
  readonly announcer?: Announcer
  readonly calendar: Calendar
  /** What heartbeats look at. */
  readonly predicates: Predicates
  readonly agents: Agents
  /** For replays to compare with; without it they are told as they were. */
  readonly today?: Today
  readonly vault: Vault
  /** How nodes and agents use memory and files. */
  readonly desk: JournalDesk
  readonly standards: Standards
  readonly inspector: Inspector
  readonly records: Records
  readonly peers?: Peers
  /** Whose turn it is among tenants whose runs have much to do; its own, when absent. */
  readonly turns?: TurnTaking
}

/** What it is held to. */
export type EngineOptions = {
  readonly hostName: string
  readonly leaseMs: number
  readonly sweepMs: number
  readonly limits: RunLimits
  readonly maxConcurrentEffects: number
  readonly maxPoisonAttempts: number
  readonly maxActiveRuns: number
  /** What each tenant may have of it all. */
  readonly quotas: QuotasOf
  readonly weights: Weights
  readonly cachedRuns: number
  /** Answer a model request that the tenant has made before with the answer of then. */
  readonly reuseAnswers: boolean
  /** What runs can write down for later. */
  readonly spaces: readonly Space[]
  readonly scheduling: SchedulingOptions
}
