import type { BoundGate } from '../core/verification/gate.js'
import type { ModelCallRequest } from '../engine/ports/agents.js'
import { agentsDouble, type Said } from './agents.js'
import { engineRig, register, startRun } from './engine-rig.js'
import { blocker } from './gate-stories.js'
import { boundGate } from './gates.js'
import { standardsDouble } from './verification.js'
import type { Sketch } from './workflow.js'

/** Gates through the real engine, with the runs of those that work and of those that judge. */

export type FamilyStory = {
  /** Its id is `w`; the gate stands at its node `a` unless it says otherwise. */
  readonly workflow: Sketch
  readonly gate?: Parameters<typeof boundGate>[0]
  /** What the verifiers say, one after the other; the last again and again. */
  readonly votes: readonly Said[]
  /** What a person says to the gate's question. */
  readonly answer?: string
}

const AGENT = 'local.test.agent'
const JUDGES = ['assay.verifier', 'local.one', 'local.two', 'local.three']
const TEXT = [{ name: 'text', type: 'string' as const }]

/** A workflow that is one agent at its node `a`. */
export const writing = (id: string): Sketch => ({
  id,
  nodes: { a: { type: 'core.agent', config: { agentId: AGENT, resultVariable: 'text' } } },
  variables: TEXT,
})

/** One that hands that work out, at its node `a`. */
export const handing: Sketch = {
  id: 'w',
  nodes: {
    a: {
      type: 'core.subWorkflow',
      config: { workflowId: 'writer', outputMapping: { text: 'text' }, onChildFailure: 'absorb' },
    },
  },
  variables: TEXT,
}

export const says = (result: unknown, more: object = {}): Said =>
  ({ said: { kind: 'answered', result, ...more } }) as Said

export const score = (correctness: number): Said =>
  says({ scores: { correctness }, findings: correctness < 7 ? [blocker('correctness', 'advisory')] : [] })

/** Told as far as it goes. */
export async function gatedFamily({ workflow, gate = {}, votes, answer }: FamilyStory) {
  const rig = engineRig()
  let asked = 0
  const think = (ask: ModelCallRequest): Said => {
    if (ask.role !== 'verifier') return says(`text ${asked}`, { confidence: 0.9 })
    return votes[Math.min(asked++, votes.length - 1)] ?? score(9)
  }
  const agents = agentsDouble({ agents: Object.fromEntries([AGENT, ...JUDGES].map(id => [id, {}])), think })
  const bound: BoundGate = { ...boundGate(gate), hash: 'a'.repeat(64) }
  const engine = await rig.host({ agents, standards: standardsDouble({ w: [bound] }) })
  await register(engine, writing('writer'), workflow)
  const runId = await startRun(engine, 'w')
  const wait = async () => {
    for (let i = 0; i < 4; i += 1) await rig.clock.advance(5_000)
  }
  await wait()
  if (answer !== undefined) {
    const resolve = { type: 'resolve' as const, nodeId: 'a', value: { action: answer }, by: 'ann', via: 'key' as const }
    await engine.command('t1', runId, resolve)
    await wait()
  }
  return { rig, engine, runId, wait }
}
