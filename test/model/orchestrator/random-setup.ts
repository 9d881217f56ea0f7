import fc from 'fast-check'
import { VALUES } from './moves.js'
import { decision, WORKERS } from './random-decision.js'
import { CONDITIONS, type Handing, type Rule, type Setup, type Source } from './setup.js'

const NAMES = ['p', 'q', 'r', 's']

const value = fc.constantFrom(...VALUES)

const plan: fc.Arbitrary<Source> = fc.record({
  kind: fc.constant('plan'),
  decisions: fc.array(decision, { minLength: 1, maxLength: 8 }),
})

const rules: fc.Arbitrary<Source> = fc.record({
  kind: fc.constant('rules'),
  rules: fc.array(
    fc.record({ when: fc.constantFrom(...(Object.keys(CONDITIONS) as Rule['when'][])), decide: decision }),
    { maxLength: 4 },
  ),
  otherwise: decision,
})

const held: fc.Arbitrary<Source> = fc.record({
  kind: fc.constant('held'),
  confidence: fc.constantFrom(0.2, 0.69, 0.7, 0.95),
  pending: decision,
  decisions: fc.array(decision, { maxLength: 3 }),
})

/** `nope` is a variable that nothing ever sets, `gone` one that no worker has. */
const inputMapping = fc.dictionary(fc.constantFrom('a', 'b', 'c'), fc.constantFrom(...NAMES, 'extra', 'nope'), {
  maxKeys: 3,
  noNullPrototype: true,
})
const outputMapping = fc.dictionary(fc.constantFrom(...NAMES, 'extra'), fc.constantFrom('a', 'x', 'y', 'gone'), {
  maxKeys: 3,
  noNullPrototype: true,
})
const perWorker = <T>(mapping: fc.Arbitrary<T>) =>
  fc.dictionary(fc.constantFrom(...WORKERS), mapping, { maxKeys: 2, noNullPrototype: true })

const attestation = fc.record({ checksum: fc.boolean(), requireApproval: fc.boolean() }, { requiredKeys: [] })

const common = {
  inputMapping,
  outputMapping,
  outputAttestation: attestation,
  propagateCancellation: fc.constantFrom(true, true, false),
}

const dispatch: fc.Arbitrary<Handing> = fc.record(
  {
    fanOutPolicy: fc.constantFrom('sequential', 'sequential', 'parallel', 'parallel', 'parallel', 'reject'),
    iterationCap: fc.integer({ min: 1, max: 8 }),
    perWorkerInputMappings: perWorker(inputMapping),
    perWorkerOutputMappings: perWorker(outputMapping),
    ...common,
  },
  { requiredKeys: [] },
)

const sub: fc.Arbitrary<Handing> = fc.record(
  { onChildFailure: fc.constantFrom('fail-parent', 'absorb'), ...common },
  { requiredKeys: [] },
)

/** Present now and then: most stories go on for longer without. */
const rarely = <T>(arbitrary: fc.Arbitrary<T>) =>
  fc.oneof({ weight: 3, arbitrary: fc.constant(undefined) }, { weight: 1, arbitrary })

const others = fc.record({
  agent: rarely(fc.constant('agent:lead')),
  answerMs: rarely(fc.integer({ min: 1, max: 60 })),
  nodeMs: rarely(fc.integer({ min: 1, max: 60 })),
  ports: fc.dictionary(fc.constantFrom('a', 'base'), fc.constant('basis'), { maxKeys: 2, noNullPrototype: true }),
  floor: fc.constantFrom(0.5, 0.6, 0.75, 1),
  escalation: fc.constantFrom('approval', 'clarification', 'x-host-acme-review'),
  ceiling: fc.constantFrom(3, 10_000, 10_000),
  maxLoopIterations: rarely(fc.integer({ min: 1, max: 9 })),
  runTimeoutMs: rarely(fc.integer({ min: 20, max: 400 })),
  variables: fc.uniqueArray(
    fc.record(
      { name: fc.constantFrom(...NAMES), defaultValue: value, sensitive: fc.boolean() },
      { requiredKeys: ['name'] },
    ),
    { selector: ({ name }) => name },
  ),
  inputs: fc.dictionary(fc.constantFrom(...NAMES), value, { maxKeys: 3, noNullPrototype: true }),
})

const loop = fc.record({
  shape: fc.constantFrom<Setup['shape']>('loop', 'loop', 'open loop', 'loop and after'),
  handing: dispatch,
})
const alone = fc.record({ shape: fc.constant<Setup['shape']>('alone'), handing: fc.constant<Handing>({}) })
const child = fc.record({ shape: fc.constant<Setup['shape']>('sub'), handing: sub })

const setup = (shape: typeof loop, source: fc.Arbitrary<Source>): fc.Arbitrary<Setup> =>
  fc.tuple(shape, source, others).map(([shaped, decides, { maxLoopIterations, runTimeoutMs, ...more }]) => {
    // Rules never run out of decisions, so their turns must be counted.
    const turns = maxLoopIterations ?? (decides.kind === 'rules' ? 6 : undefined)
    const configurable = given({ maxLoopIterations: turns, runTimeoutMs })
    return given({ ...more, ...shaped, source: decides, configurable }) as unknown as Setup
  })

const given = (fields: { readonly [name: string]: unknown }) =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined))

/** Setups by what leads them. */
export const SETUPS = {
  script: setup(loop, plan),
  rules: setup(loop, rules),
  hold: setup(loop, held),
  nobody: setup(child, plan),
  itself: setup(alone, fc.oneof(plan, rules, held)),
}
