import type { Json } from '../../core/json.js'
import type { Rules } from '../../core/run/decide.js'
import type { Effect } from '../../core/run/effects.js'
import type { Plan } from '../../core/workflow/plan.js'
import type { Lru } from '../../lru.js'
import type { TurnTaking } from '../../timing/turns.js'
import type { Agents, Vault } from '../ports/agents.js'
import type { Clock, Ids } from '../ports/clock.js'
import type { JournalDesk } from '../ports/desk.js'
import type { Log } from '../ports/log.js'
import type { Peers } from '../ports/peers.js'
import type { Performer, StepActor } from '../ports/performer.js'
import type { SchemaChecker } from '../ports/schema-checker.js'
import type { Store } from '../ports/store.js'
import type { Today } from '../ports/today.js'
import type { Inspector, Records, Standards } from '../ports/verification.js'
import type { Plans } from '../plans/plans.js'
import type { LoadedRun, RunCache } from '../runtime/run-cache.js'
import type { Input, RunWriter, SubmitOptions } from '../runtime/run-writer.js'
import type { ClaimDisposition } from './once.js'
import type { PeerTries } from './peer-tries.js'

/** What the performers of effects share. */
export type EffectContext = {
  readonly store: Store
  readonly clock: Clock
  readonly ids: Ids
  readonly plans: Plans
  readonly cache: RunCache
  readonly runs: RunWriter
  readonly schemas: SchemaChecker
  readonly performers: ReadonlyMap<string, Performer>
  readonly actors?: ReadonlyMap<string, StepActor>
  readonly hostId: () => string
  readonly log: Log
  /** Answers of effects that happened but could not be stored yet, by identity. */
  readonly unstored: Map<string, Unstored>
  readonly agents: Agents
  readonly today: Today
  readonly vault: Vault
  readonly desk: JournalDesk
  readonly standards: Standards
  readonly inspector: Inspector
  readonly records: Records
  /** What agents said last, by tenant and effect. */
  readonly recent: Lru<Json>
  /** Whether a model is asked only once what it was asked before. */
  readonly reuseAnswers: boolean
  readonly rules: (plan: Plan) => Rules
  readonly peers: Peers
  readonly tries: PeerTries
  /** Has a run looked at, as whoever has news of it may. */
  readonly wake: (runId: string) => void
  /** For whatever a run may owe again and again at once: each decision is a turn, and runs take turns. */
  readonly turns: TurnTaking
}

export type Unstored = {
  readonly hostId: string
  readonly claim: ClaimDisposition
  readonly outcome: Json
  readonly cacheKey: string | undefined
}

export type EffectOf<Kind extends Effect['kind']> = Extract<Effect, { kind: Kind }>

/**
 * Performs one effect and says what to put to the run, or undefined when there is nothing to report yet. May be called
 * again for the same effect after a crash; must then have the same outcome or one that is ignored.
 */
export type PerformEffect<Kind extends Effect['kind']> = (
  context: EffectContext,
  run: LoadedRun,
  effect: EffectOf<Kind>,
  signal: AbortSignal,
) => Promise<{ readonly input: Input; readonly options?: SubmitOptions } | undefined>
