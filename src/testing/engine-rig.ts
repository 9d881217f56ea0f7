import { cronCalendar } from '../calendar/cron-calendar.js'
import { EQUAL_WEIGHTS, noQuotas } from '../core/quotas.js'
import { coreNodeTypes } from '../core/workflow/nodes/registry.js'
import type { RunRequest } from '../engine/api.js'
import { createRunDesk, type DeskSettings } from '../engine/journal/run-desk.js'
import type { Agents } from '../engine/ports/agents.js'
import type { Announcer } from '../engine/ports/announcer.js'
import type { Calendar } from '../engine/ports/calendar.js'
import type { Ids } from '../engine/ports/clock.js'
import type { Peers } from '../engine/ports/peers.js'
import type { Inspector, Predicates, Records, Standards } from '../engine/ports/verification.js'
import type { Performer } from '../engine/ports/performer.js'
import type { SchemaChecker } from '../engine/ports/schema-checker.js'
import type { Store } from '../engine/ports/store.js'
import type { Today } from '../engine/ports/today.js'
import { Engine } from '../engine/runtime/engine.js'
import type { EngineDeps, EngineOptions } from '../engine/runtime/engine-deps.js'
import { MemoryStore } from '../store/memory/memory-store.js'
import { agentsDouble, glassVault } from './agents.js'
import { LIMITS } from './limits.js'
import { ManualClock, settled } from './manual-clock.js'
import { inspectorDouble, predicatesDouble, recordsDouble, standardsDouble } from './verification.js'
import { type Sketch, sketch } from './workflow.js'

/** Ids that count up: the same test makes the same log every time. */
export class CountingIds implements Ids {
  #next = 0
  #salts = 0

  constructor(private readonly prefix = '') {}

  run(): string {
    this.#next += 1
    return `${this.prefix}run-${String(this.#next).padStart(6, '0')}`
  }

  unique(): string {
    this.#next += 1
    return `${this.prefix}id-${this.#next}`
  }

  salt(): string {
    this.#salts += 1
    return `${this.prefix}salt-${this.#salts}`
  }
}

export type Rig = {
  readonly store: Store
  readonly clock: ManualClock
  readonly ids: CountingIds
  /** A host on the shared store; `crash` leaves everything as a dead process would. */
  host(
    options?: Partial<EngineOptions> & {
      readonly performers?: ReadonlyMap<string, Performer>
      readonly store?: Store
      readonly announcer?: Announcer
      readonly calendar?: Calendar
      readonly predicates?: Predicates
      readonly schemas?: SchemaChecker
      readonly agents?: Agents
      readonly today?: Today
      readonly standards?: Standards
      readonly inspector?: Inspector
      readonly records?: Records
      readonly peers?: Peers
      readonly turns?: NonNullable<EngineDeps['turns']>
    },
  ): Promise<Engine>
}

export const DESK_SETTINGS: DeskSettings = {
  maxBytes: { memory: 65_536, workspace: 1_048_576 },
  maxEntries: { memory: 1_000, workspace: 1_000 },
  fullText: true,
}

/** Every value fits. */
const NO_SCHEMAS: SchemaChecker = {
  inspect: async () => undefined,
  check: async () => undefined,
  violation: async () => undefined,
  close: async () => undefined,
}

const NOBODY_WAITS: NonNullable<EngineDeps['turns']> = {
  next: async () => undefined,
  room: () => undefined,
  spent: () => undefined,
}

/** Engines over one store and one manual clock, as if they were processes. */
export function engineRig(store: Store = new MemoryStore(), ids = new CountingIds(), clock = new ManualClock()): Rig {
  return {
    store,
    clock,
    ids,
    async host(given = {}) {
      const {
        performers = new Map(),
        store: seen = store,
        announcer,
        calendar = cronCalendar(),
        predicates = predicatesDouble(),
        schemas = NO_SCHEMAS,
        agents,
        today,
        turns,
        peers,
        ...more
      } = given
      const {
        standards = standardsDouble(),
        inspector = inspectorDouble(),
        records = recordsDouble(),
        ...options
      } = more
      const deps: EngineDeps = {
        store: seen,
        clock,
        ids,
        schemas,
        log: { info: () => undefined, warn: () => undefined, error: () => undefined },
        nodeTypes: new Map(coreNodeTypes.map(type => [type.typeId, type])),
        capabilities: new Set(['assay.conformance']),
        performers,
        calendar,
        predicates,
        definitionShape: () => undefined,
        agents: agents ?? agentsDouble({ agents: {} }),
        vault: glassVault,
        desk: createRunDesk({
          store: seen,
          vault: glassVault,
          redact: { text: text => text },
          turns: turns ?? NOBODY_WAITS,
          settings: DESK_SETTINGS,
        }),
        standards,
        inspector,
        records,
        ...(announcer ? { announcer } : {}),
        ...(today ? { today } : {}),
        ...(turns ? { turns } : {}),
        ...(peers ? { peers } : {}),
      }
      const engine = new Engine(deps, {
        hostName: 'host',
        leaseMs: 10_000,
        sweepMs: 1_000,
        limits: { ...LIMITS, maxDepth: 8 },
        maxConcurrentEffects: 8,
        maxPoisonAttempts: 3,
        maxActiveRuns: 1_000,
        quotas: noQuotas,
        weights: EQUAL_WEIGHTS,
        cachedRuns: 100,
        reuseAnswers: false,
        spaces: ['memory', 'workspace'],
        scheduling: { tenant: 'default', horizonMs: 366 * 86_400_000 },
        ...options,
      })
      await engine.start()
      return engine
    },
  }
}

export const register = async (engine: Engine, ...workflows: Sketch[]): Promise<void> => {
  for (const workflow of workflows) {
    const answer = await engine.putWorkflow('t1', sketch(workflow))
    if (!answer.ok) throw new Error('refusal' in answer ? answer.refusal.message : 'replayed')
  }
}

/** Starts a run and lets everything that can happen at once happen. */
export async function startRun(engine: Engine, workflowId: string, more: Partial<RunRequest> = {}): Promise<string> {
  const answer = await engine.create({
    tenant: 't1',
    principal: 'p',
    workflowId,
    inputs: {},
    transport: 'rest',
    ...more,
  })
  if (!answer.ok) throw new Error('refusal' in answer ? answer.refusal.message : 'replayed')
  await settled()
  return answer.value.runId
}
