import type { Json } from '../../../src/core/json.js'
import type { BoundGate, Criterion, Knowledge, Probe } from '../../../src/core/verification/gate.js'
import { createEgress, type Egress } from '../../../src/egress/egress.js'
import type { Clock } from '../../../src/engine/ports/clock.js'
import type { Log } from '../../../src/engine/ports/log.js'
import type { SchemaChecker } from '../../../src/engine/ports/schema-checker.js'
import { createInspector } from '../../../src/probes/inspector.js'
import type { Means, ProbeFinding, ProbeSubject } from '../../../src/probes/probe.js'
import { pureProbesHere } from '../../../src/probes/pure-probes.js'
import { systemClock } from '../../../src/system.js'
import { FairQueue } from '../../../src/timing/fair-queue.js'

export const TRACEPARENT = `00-${'5'.repeat(32)}-${'7'.repeat(16)}-01`

export const subjectOf = (output: Json, more: Partial<ProbeSubject> = {}): ProbeSubject => ({
  tenant: 't1',
  output,
  knowledge: [],
  signal: new AbortController().signal,
  ...more,
})

/** Means of which only those that are given may be used. */
export const meansOf = (means: Partial<Means> = {}): Means => ({
  egress: unused<Egress>('egress'),
  schemas: unused<SchemaChecker>('schemas'),
  pure: pureProbesHere(systemClock),
  project: undefined,
  workspace: undefined,
  searchPath: '/usr/local/bin:/usr/bin:/bin',
  commands: new FairQueue(4, () => ({ weight: 1, atOnce: 4 })),
  clock: systemClock,
  log: unused<Log>('log'),
  ...means,
})

const unused = <T extends object>(name: string): T =>
  new Proxy({} as T, {
    get() {
      throw new Error(`${name} is not for this test`)
    },
  })

export const detailsOf = ({ evidence }: ProbeFinding): string => evidence.map(({ detail }) => detail).join('\n')

export const criterion = (dimension: string, probes: readonly Probe[]): Criterion => ({
  dimension,
  scale: { min: 0, max: 1, type: 'float' },
  pass_threshold: 1,
  weight: 1,
  evidence_required: true,
  probes,
  settled_by_probes: true,
})

const boundGate = (criteria: readonly Criterion[], knowledge: readonly Knowledge[] = []): BoundGate => ({
  gate: {
    gate_id: 'g',
    name: 'G',
    position: { workflow_id: 'w', phase_id: 'p', placement: 'phase_exit' },
    intent_refs: ['i'],
    knowledge_refs: [],
    evaluation_criteria: criteria,
    verifier_requirements: {
      fresh_context: true,
      role: 'verifier',
      verifiers: [],
      allow_self_verification: false,
      timeout_ms: 1_000,
    },
    gate_behaviour: {
      blocking: true,
      on_fail: 'reject',
      max_attempts: 2,
      rework: 'automatic',
      reverification: 'targeted',
      auto_commit: 'always',
      licence: { bad_stopped: { min_n: 1, lower_bound: 0 }, good_passed: { min_n: 1, lower_bound: 0 } },
      confirm: 'full',
      stop_when_stuck: false,
      allow_hidden: false,
      retries: 0,
      retry_delay_ms: 0,
    },
    multi_verifier: { verifier_count: 1, quorum_strategy: 'majority', min_agree: 1, early_stop: true },
  },
  version: 1,
  hash: '',
  intents: [],
  constraints: [],
  knowledge,
})

type Inspected = {
  readonly signal?: AbortSignal
  readonly dimensions?: readonly string[]
  /** The result as it is, where it holds what must not be seen. */
  readonly hidden?: Json
}

/** An inspector with a real way out, and everything that it logs. */
export function inspectorRig(means: Partial<Means> & { readonly allowPrivate?: boolean; readonly clock?: Clock } = {}) {
  const { allowPrivate = false, clock = systemClock, ...rest } = means
  const egress = rest.egress ?? createEgress({ allowPrivate, clock })
  const logged: object[] = []
  const write = (fields: object) => void logged.push(fields)
  const inspector = createInspector({
    ...meansOf(rest),
    egress,
    clock,
    log: { info: write, warn: write, error: write },
  })
  return {
    logged,
    close: () => egress.close(),
    inspect: (criteria: readonly Criterion[], output: Json, { signal, dimensions, ...more }: Inspected = {}) =>
      inspector.inspect({
        tenant: 't',
        runId: 'r',
        traceparent: TRACEPARENT,
        bound: boundGate(criteria),
        dimensions: dimensions ?? criteria.map(({ dimension }) => dimension),
        output,
        files: async () => ({ is: 'absent' }),
        ...more,
        signal: signal ?? new AbortController().signal,
      }),
  }
}
