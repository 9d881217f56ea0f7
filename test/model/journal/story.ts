import fc from 'fast-check'
import type { JsonObject } from '../../../src/core/json.js'
import type { BoundGate } from '../../../src/core/verification/gate.js'
import { boundGate } from '../../../src/testing/gates.js'
import { tool } from '../../../src/testing/invocations.js'
import type { Sketch } from '../../../src/testing/workflow.js'
import type { Arrangement, GateSpot } from './model.js'

/** What runs write down and look at, who holds it back, and what others do meanwhile and afterwards. */

export const KEYS = ['a', 'b', 'c'] as const
export const FILES = ['x.md', 'y/z.md'] as const
export const WORDS = ['red', 'green', 'blue'] as const
export const REF = 'notes'

/** What an agent does with memory and files before it says something. */
export type Act =
  | { readonly do: 'put'; readonly key: string; readonly word: string; readonly ttl: number | undefined }
  | { readonly do: 'forget'; readonly key: string }
  | { readonly do: 'write'; readonly path: string; readonly word: string }
  | { readonly do: 'remove'; readonly path: string }

export type Step =
  | PutStep
  | { readonly is: 'get'; readonly by: 'id' | 'list' | 'search'; readonly key: string; readonly word: string }
  | { readonly is: 'wait' }
  | { readonly is: 'agent'; readonly acts: readonly Act[]; readonly says: Quality; readonly gated: boolean }
  | { readonly is: 'sub'; readonly child: number; readonly gated: boolean }

/** Without a key it is named after the event that tells of it. */
type PutStep = {
  readonly is: 'put'
  readonly key: string | undefined
  readonly word: string
  readonly ttl: number | undefined
}

/** Whether a verifier lets it pass: at once, when it was sent back, or never. */
export type Quality = 'good' | 'mended' | 'bad'

export type Flow = { readonly steps: readonly Step[]; readonly exitGate: boolean; readonly isolated: boolean }

/** What somebody else does, outside of the run or by one of their own. */
export type Other =
  | { readonly by: 'key'; readonly key: string; readonly word: string; readonly ttl: number | undefined }
  | { readonly by: 'run'; readonly key: string }
  | { readonly by: 'forget'; readonly key: string }
  | { readonly by: 'file' | 'removal'; readonly path: string; readonly word: string }
  | { readonly by: 'consolidation' }
  | { readonly by: 'time' }

export type Story = {
  readonly shape: 'chain' | 'loop'
  /** A scope that others have, too; undefined where the run has one of its own. */
  readonly scope: string | undefined
  readonly root: Flow
  readonly children: readonly Flow[]
  readonly fanOut: 'parallel' | 'sequential'
  readonly before: readonly Other[]
  readonly during: readonly Other[]
  readonly after: readonly Other[]
}

const key = fc.constantFrom(...KEYS)
const named = fc.constantFrom(...KEYS, ...KEYS, undefined)
const word = fc.constantFrom(...WORDS)
const path = fc.constantFrom(...FILES)
const ttl = fc.constantFrom(undefined, undefined, 5, 15, 45)
const seldom = fc.nat({ max: 2 }).map(n => n === 0)

const act: fc.Arbitrary<Act> = fc.oneof(
  { weight: 4, arbitrary: fc.record({ do: fc.constant('put' as const), key, word, ttl }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('forget' as const), key }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('write' as const), path, word }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('remove' as const), path }) },
)

const agentStep = fc.record({
  is: fc.constant('agent' as const),
  acts: fc.array(act, { minLength: 1, maxLength: 3 }),
  says: fc.constantFrom<Quality[]>('good', 'good', 'mended', 'bad'),
  gated: seldom,
})

const plain: fc.Arbitrary<Step> = fc.oneof(
  { weight: 3, arbitrary: fc.record({ is: fc.constant('put' as const), key: named, word, ttl }) },
  {
    weight: 3,
    arbitrary: fc.record({ is: fc.constant('get' as const), by: fc.constantFrom('id', 'list', 'search'), key, word }),
  },
  { weight: 1, arbitrary: fc.record({ is: fc.constant('wait' as const) }) },
  { weight: 3, arbitrary: agentStep },
)

const sub = (children: number): fc.Arbitrary<Step> =>
  fc.record({ is: fc.constant('sub' as const), child: fc.nat({ max: children - 1 }), gated: seldom })

const flow = (step: fc.Arbitrary<Step>, minLength: number, maxLength: number): fc.Arbitrary<Flow> =>
  fc.record({ steps: fc.array(step, { minLength, maxLength }), exitGate: seldom, isolated: seldom })

const other: fc.Arbitrary<Other> = fc.oneof(
  { weight: 4, arbitrary: fc.record({ by: fc.constant('key' as const), key, word, ttl }) },
  { weight: 2, arbitrary: fc.record({ by: fc.constant('run' as const), key }) },
  { weight: 2, arbitrary: fc.record({ by: fc.constant('forget' as const), key }) },
  { weight: 2, arbitrary: fc.record({ by: fc.constantFrom('file' as const, 'removal' as const), path, word }) },
  { weight: 1, arbitrary: fc.constant<Other>({ by: 'consolidation' }) },
  { weight: 2, arbitrary: fc.constant<Other>({ by: 'time' }) },
)

const others = (minLength: number, maxLength: number) => fc.array(other, { minLength, maxLength })

export const story: fc.Arbitrary<Story> = fc
  .record({
    shape: fc.constantFrom('chain' as const, 'chain' as const, 'chain' as const, 'loop' as const),
    scope: fc.constantFrom('team', 'team', undefined),
    root: flow(fc.oneof({ weight: 3, arbitrary: plain }, { weight: 1, arbitrary: sub(2) }), 3, 6),
    // The first has a worker of its own, now and then.
    first: flow(
      fc.oneof({ weight: 5, arbitrary: plain }, { weight: 1, arbitrary: sub(1).map(one => ({ ...one, child: 1 })) }),
      2,
      4,
    ),
    second: flow(plain, 1, 3),
    fanOut: fc.constantFrom('parallel' as const, 'sequential' as const),
    before: others(1, 4),
    during: others(0, 6),
    after: others(2, 6),
  })
  .map(({ first, second, ...told }) => ({
    ...told,
    // A node that hands over says once for all its workers whether they have a memory of their own.
    children: [first, told.shape === 'loop' ? { ...second, isolated: first.isolated } : second],
  }))

export const ROOT = 'w'
const childName = (index: number): string => `c${index}`
export const OTHER_RUN = (id: string): string => `other-${id}`

export const SUPERVISOR = 'host:orchestrator:sup'
export const agentAt = (workflowId: string, nodeId: string): string => `local.${workflowId}.${nodeId}`

export const TOOLS = ['put', 'forget', 'write', 'remove', 'look'].map(name => tool(`test:${name}`))

const nodeName = (index: number): string => `n${index}`

function nodeOf(workflowId: string, step: Step, index: number, children: readonly Flow[], tenant: string) {
  switch (step.is) {
    case 'put': {
      const { key: memoryId, word, ttl } = step
      const config = { memoryRef: REF, content: `${word} of ${tenant} ${workflowId}:${index}`, tags: [word] }
      const more = {
        ...(memoryId === undefined ? {} : { memoryId }),
        ...(ttl === undefined ? {} : { ttlSeconds: ttl }),
      }
      return { type: 'core.memoryPut', config: { ...config, ...more } }
    }
    case 'get': {
      const asked = { id: { memoryId: step.key }, list: {}, search: { query: step.word } }[step.by]
      return { type: 'core.memoryGet', config: { memoryRef: REF, ...asked } as JsonObject }
    }
    case 'wait':
      return { type: 'core.delay', config: { ms: 10_000 } }
    case 'agent':
      return { type: 'core.agent', config: { agentId: agentAt(workflowId, nodeName(index)), resultVariable: 'text' } }
    case 'sub':
      return {
        type: 'core.subWorkflow',
        config: handing(childName(step.child), children[step.child]?.isolated ?? false),
      }
  }
}

const handing = (workflowId: string, isolated: boolean): JsonObject => ({
  workflowId,
  ...TERMS,
  onChildFailure: 'absorb',
  memoryScopeIsolation: isolated ? 'isolated' : 'inherit',
})
const TERMS = { outputMapping: { text: 'text' } }
const TEXT = [{ name: 'text', type: 'string' as const, defaultValue: 'nothing' }]

function chainOf(workflowId: string, { steps }: Flow, children: readonly Flow[], tenant: string): Sketch {
  const names = steps.map((_, i) => nodeName(i))
  const nodes = Object.fromEntries(steps.map((step, i) => [nodeName(i), nodeOf(workflowId, step, i, children, tenant)]))
  return { id: workflowId, nodes, edges: names.slice(1).map((name, i) => `${names[i]} > ${name}`), variables: TEXT }
}

const loopOf = ({ fanOut, children }: Story): Sketch => ({
  id: ROOT,
  nodes: {
    sup: { type: 'core.orchestrator.supervisor', config: { prompt: 'Lead.' } },
    dispatch: {
      type: 'core.dispatch',
      config: {
        ...TERMS,
        fanOutPolicy: fanOut,
        memoryScopeIsolation: children[0]?.isolated ? 'isolated' : 'inherit',
      },
    },
  },
  edges: ['sup > dispatch', 'dispatch > sup'],
  variables: TEXT,
})

export const WORKERS = [childName(0), childName(1)]

/** What a tenant's nodes write says whose it is. */
export const workflowsOf = (told: Story, tenant = 't1'): Sketch[] => [
  ...told.children.map((child, i) => chainOf(childName(i), child, told.children, tenant)),
  told.shape === 'loop' ? loopOf(told) : chainOf(ROOT, told.root, told.children, tenant),
  ...KEYS.map(id => ({
    id: OTHER_RUN(id),
    nodes: { n0: nodeOf(OTHER_RUN(id), { is: 'put', key: id, word: 'blue', ttl: undefined }, 0, [], tenant) },
  })),
]

/** Steps of workflows, by name. */
export const flowsOf = (told: Story): ReadonlyMap<string, Flow> =>
  new Map([
    ...told.children.map((child, i) => [childName(i), child] as const),
    [ROOT, told.shape === 'loop' ? { ...told.root, steps: [] } : told.root] as const,
  ])

const isWorked = ({ is }: Step): boolean => is === 'agent' || is === 'sub'

function spotsOf({ steps, exitGate }: Flow): GateSpot[] {
  const spots = steps.flatMap((step, i): GateSpot[] => {
    if (step.is === 'agent' && step.gated) return [{ point: 'node', nodeId: nodeName(i) }]
    return step.is === 'sub' && step.gated ? [{ point: 'harvest', nodeId: nodeName(i) }] : []
  })
  const last = steps.findLastIndex(isWorked)
  return exitGate && last >= 0 ? [...spots, { point: 'run', nodeId: nodeName(last) }] : spots
}

export function arrangementOf(told: Story): Arrangement {
  const spots = [...flowsOf(told)].map(([name, one]) => [name, spotsOf(one)] as const)
  const looped: GateSpot[] = told.root.exitGate ? [{ point: 'harvest', nodeId: 'dispatch' }] : []
  const gates = { ...Object.fromEntries(spots), ...(told.shape === 'loop' ? { [ROOT]: looped } : {}) }
  return { gates, isolated: told.children.flatMap(({ isolated }, i) => (isolated ? childName(i) : [])) }
}

export const gatesOf = ({ gates }: Arrangement): { [workflowId: string]: BoundGate[] } =>
  Object.fromEntries(
    Object.entries(gates).map(([workflow_id, spots]) => [
      workflow_id,
      spots.map(({ point, nodeId }, i) => ({
        ...boundGate({
          gate_id: `${workflow_id}-${i}`,
          position: { workflow_id, phase_id: nodeId, placement: point === 'run' ? 'workflow_exit' : 'phase_exit' },
          behaviour: { max_attempts: 2, on_fail: 'reject', retry_delay_ms: 1_000 },
        }),
        hash: 'a'.repeat(64),
      })),
    ]),
  )
