import type { JsonObject } from '../../src/core/json.js'
import type { BoundGate } from '../../src/core/verification/gate.js'
import type { ModelCallRequest } from '../../src/engine/ports/agents.js'
import type { Store } from '../../src/engine/ports/store.js'
import { agentsDouble, type Said } from '../../src/testing/agents.js'
import type { Rig } from '../../src/testing/engine-rig.js'
import { score } from '../../src/testing/gated-families.js'
import { boundGate } from '../../src/testing/gates.js'
import { answered, HASH } from '../../src/testing/invocations.js'
import { loopOf, next, terminate } from '../../src/testing/orchestration.js'
import { standardsDouble } from '../../src/testing/verification.js'
import type { Sketch } from '../../src/testing/workflow.js'
import { JOURNAL_TERMS, journalTools } from './journal-tools.js'

/** Workflows that write down and read what others have written, and the world around them. */

type Call = readonly [tool: string, args: JsonObject]

const REPORT = 'reports/may.md'

/** What each agent calls, round by round, before it has a result. */
const ROUNDS: { readonly [agentId: string]: readonly (readonly Call[])[] } = {
  'local.writer': [
    [
      ['memory.put', { content: 'the sky is blue', id: 'sky', tags: ['colour'], ttlSeconds: 3_600 }],
      ['memory.put', { content: 'water is wet' }],
      ['workspace.write', { path: REPORT, content: 'May was warm.', contentType: 'text/markdown' }],
      ['workspace.write', { path: 'tmp.txt', content: 'not for long' }],
    ],
    [['memory.get', { id: 'sky' }]],
  ],
  'local.reader': [
    [
      ['memory.get', { id: 'sky', ref: 'local.writer' }],
      ['memory.list', { ref: 'local.writer', tag: 'colour' }],
      ['memory.search', { query: 'water' }],
      ['workspace.list', { prefix: 'reports/' }],
      ['workspace.read', { path: REPORT }],
    ],
    [
      ['memory.forget', { id: 'sky', ref: 'local.writer' }],
      ['memory.forget', { id: 'never written' }],
      ['workspace.remove', { path: 'tmp.txt' }],
    ],
  ],
  'local.editor': [
    [['workspace.read', { path: REPORT }]],
    [['workspace.write', { path: REPORT, content: 'May was hot.', ifMatch: 1 }]],
  ],
  'local.noter': [[['memory.put', { content: 'noted', ref: 'notes', id: 'n' }]]],
}

const TOOLED = [...Object.keys(ROUNDS), 'local.lead']

const wanted = (calls: readonly Call[]): Said => ({
  said: { kind: 'tools', calls: calls.map(([tool]) => ({ toolId: `assay:${tool}`, argsHash: HASH })) },
  args: calls.map(([, args]) => args),
})

/** It looks what there is in memory, and has it noted where there is nothing. */
function lead({ rounds }: ModelCallRequest): Said {
  const [looked] = rounds
  if (looked === undefined) return wanted([['memory.list', { ref: 'notes' }]])
  const { entries } = JSON.parse(looked.results[0]!.text) as { readonly entries: readonly unknown[] }
  return { said: answered(entries.length === 0 ? next('noting') : terminate, 0.9) }
}

const put = (config: JsonObject) => ({ type: 'core.memoryPut', config: { memoryRef: 'notes', ...config } })
const get = (config: JsonObject = {}) => ({ type: 'core.memoryGet', config: { memoryRef: 'notes', ...config } })
const agent = (agentId: string) => ({ type: 'core.agent', config: { agentId } })
const child = (workflowId: string, config: JsonObject = {}) => ({
  type: 'core.subWorkflow',
  config: { workflowId, onChildFailure: 'absorb', ...config },
})

const chain = (id: string, nodes: Sketch['nodes']): Sketch => {
  const names = Object.keys(nodes)
  return { id, nodes, edges: names.slice(1).map((name, i) => `${names[i]} > ${name}`) }
}

const TEXT = [{ name: 'text', type: 'string' as const }]

/** In an order in which each finds what it needs. */
export const SCENES = {
  nodes: chain('nodes', {
    first: put({ content: 'one two', memoryId: 'a', tags: ['t'], ttlSeconds: 60 }),
    second: put({ content: { three: 3 } }),
    one: get({ memoryId: 'a' }),
    all: get(),
    found: get({ query: 'two', tag: 't' }),
    none: get({ memoryId: 'b' }),
  }),
  written: chain('written', { w: agent('local.writer') }),
  edited: chain('edited', { wait: { type: 'core.delay', config: { ms: 500 } }, e: agent('local.editor') }),
  both: chain('both', { w: agent('local.writer'), r: agent('local.reader') }),
  passed: chain('passed', { w: agent('local.writer'), r: agent('local.reader') }),
  reworked: chain('reworked', { w: agent('local.writer'), r: agent('local.reader') }),
  rejected: chain('rejected', { w: agent('local.writer') }),
  left: chain('left', { w: agent('local.writer'), all: get() }),
  family: chain('family', {
    shared: child('noting'),
    apart: child('nodes', { memoryScopeIsolation: 'isolated' }),
    all: get(),
  }),
  held: {
    ...chain('held', { shared: child('texting', { outputMapping: { text: 'text' } }), all: get() }),
    variables: TEXT,
  },
  led: loopOf({ prompt: 'lead them' }, { id: 'led', agentId: 'local.lead' }),
} satisfies { readonly [name: string]: Sketch }

export type Scene = keyof typeof SCENES

export const JOURNAL_WORKFLOWS: readonly Sketch[] = [
  chain('noting', { n: agent('local.noter') }),
  {
    ...chain('texting', { n: { type: 'core.agent', config: { agentId: 'local.noter', resultVariable: 'text' } } }),
    variables: TEXT,
  },
  ...Object.values(SCENES),
]

type Gated = {
  readonly phase: string
  readonly placement?: 'workflow_exit' | 'phase_exit'
  readonly votes: readonly number[]
}

const GATES: { readonly [workflowId: string]: Gated } = {
  passed: { phase: 'w', votes: [9] },
  reworked: { phase: 'w', votes: [3, 9] },
  rejected: { phase: 'w', votes: [3] },
  left: { phase: 'w', placement: 'workflow_exit', votes: [3, 9] },
  held: { phase: 'shared', votes: [9] },
}

const gateOf = (workflow_id: string, { phase, placement = 'phase_exit' }: Omit<Gated, 'votes'>): BoundGate => ({
  ...boundGate({
    gate_id: `gate-${workflow_id}`,
    position: { workflow_id, phase_id: phase, placement },
    criteria: [{ dimension: 'correctness', description: `case ${workflow_id}` }],
  }),
  hash: 'a'.repeat(64),
})

/** Votes in their order; the last again and again. */
function models() {
  const given = new Map<string, number>()
  return (ask: ModelCallRequest): Said => {
    const { agentId = '', role, brief, rounds } = ask
    if (role === 'verifier') {
      const [id, { votes }] = Object.entries(GATES).find(([id]) => brief.user.includes(`"case ${id}"`))!
      const nth = given.get(id) ?? 0
      given.set(id, nth + 1)
      return score(votes[Math.min(nth, votes.length - 1)]!)
    }
    if (agentId === 'local.lead') return lead(ask)
    const calls = ROUNDS[agentId]?.[rounds.length]
    return calls ? wanted(calls) : { said: answered('some text', 0.9) }
  }
}

type HostOptions = NonNullable<Parameters<Rig['host']>[0]>

/** Agents with the host's own tools over the store, and the gates of some scenes. */
export const journalWorld = (store: Store): HostOptions => ({
  agents: agentsDouble({
    agents: {
      'assay.verifier': {},
      ...Object.fromEntries(TOOLED.map(agentId => [agentId, { tools: [...JOURNAL_TERMS] }])),
    },
    think: models(),
    use: journalTools(store),
  }),
  standards: standardsDouble(Object.fromEntries(Object.entries(GATES).map(([id, gate]) => [id, [gateOf(id, gate)]]))),
})
