import fs from 'node:fs'
import path from 'node:path'
import { describe, expect, it, test } from 'vitest'
import { coreNodeTypes } from '../../core/workflow/nodes/registry.js'
import { VERIFIER_WORKFLOW } from '../../core/workflow/nodes/verify.js'
import { agentsDouble } from '../../testing/agents.js'
import { engineRig, register, startRun } from '../../testing/engine-rig.js'
import { AGENT, agentFlow } from '../../testing/invocations.js'
import { loopOf } from '../../testing/orchestration.js'
import type { Sketch } from '../../testing/workflow.js'
import { cacheKey, semanticRequest } from './cache-key.js'

const NODES = path.join(import.meta.dirname, '../../core/workflow/nodes')
const BUNDLE = { output: 1, intents: [], constraints: [], knowledge: [], evidence: [], criteria: [] }

const alone = (type: string, config: object = {}): Sketch => ({ id: 'w', nodes: { ask: { type, config } as never } })

/** A run of each type of node that has a model asked, and how often it asks. */
const KEYED: { readonly [typeId: string]: { readonly workflow?: Sketch; readonly inputs?: object; calls: number } } = {
  'core.agent': { workflow: agentFlow({}, { id: 'w' }), calls: 1 },
  'core.ai.callPrompt': { workflow: alone('core.ai.callPrompt', { prompt: 'Tell.' }), calls: 1 },
  'core.ai.structuredOutput': { workflow: alone('core.ai.structuredOutput', { outputSchema: {} }), calls: 1 },
  'core.orchestrator.supervisor': { workflow: { ...loopOf({ prompt: 'lead' }), id: 'w' }, calls: 1 },
  // Only the host has a workflow with such a node.
  'assay.verify': { inputs: { agentId: AGENT, bundle: BUNDLE, schema: {} }, calls: 1 },
  // It is refused before it could ask.
  'conformance.modelCapability.insufficient': {
    workflow: alone('conformance.modelCapability.insufficient'),
    calls: 0,
  },
}

const sources = fs
  .readdirSync(NODES, { encoding: 'utf8', recursive: true })
  .filter(name => name.endsWith('.ts') && !name.endsWith('.test.ts') && name !== 'registry.ts')
  .map(name => fs.readFileSync(path.join(NODES, name), 'utf8'))
/** Node types whose source has an agent or a model asked. */
const asking = sources
  .filter(source => /wait(:|\s=) \{ kind: 'agent'|promptCall\(/.test(source))
  .map(source => /typeId: '([^']+)'/.exec(source)?.[1])

test('R-REPLAY-2: every type of node that has a model asked says so, and is held to the recipe below', () => {
  const invoking = coreNodeTypes.filter(({ invokes }) => invokes).map(({ typeId }) => typeId)
  expect(invoking.sort()).toEqual(Object.keys(KEYED).sort())
  expect(asking.sort()).toEqual(Object.keys(KEYED).sort())
})

describe.each(Object.entries(KEYED))('R-REPLAY-2: %s', (typeId, { workflow, inputs = {}, calls }) => {
  it('has a key of the recipe for each call, under which its answer is kept for its tenant', async () => {
    const rig = engineRig()
    const missing = { provider: 'p', model: 'm', missing: ['nonexistent-capability-9b3f'], fallbackAttempted: false }
    const agents = {
      ...agentsDouble({
        agents: { [AGENT]: {}, ...(calls === 0 ? { 'host:prompt:ask': { lacks: missing } } : {}) },
        think: ({ role }) => ({
          said: { kind: 'answered', result: role === 'supervisor' ? { kind: 'terminate' } : 'x' },
        }),
      }),
      keyOf: (ask: Parameters<typeof semanticRequest>[0]) => cacheKey(semanticRequest(ask), 'v2'),
    }
    const engine = await rig.host({ agents })
    if (workflow) await register(engine, workflow)
    await startRun(engine, workflow?.id ?? VERIFIER_WORKFLOW, { inputs: inputs as never })
    expect(agents.thoughts, typeId).toHaveLength(calls)
    for (const thought of agents.thoughts) {
      const key = agents.keyOf(thought)
      expect(key).toMatch(/^[0-9a-f]{64}$/)
      expect(await rig.store.findAnswer('t1', key)).toBeDefined()
      expect(await rig.store.findAnswer('t2', key)).toBeUndefined()
    }
  })
})
