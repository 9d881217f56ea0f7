import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import fc from 'fast-check'
import { afterAll, describe, expect, test } from 'vitest'
import type { JsonObject } from '../../../src/core/json.js'
import type { Store } from '../../../src/engine/ports/store.js'
import type { WorkflowRecord } from '../../../src/engine/ports/workflows.js'
import { agentWorkflow } from '../../../src/engine/plans/agent-workflow.js'
import type { Engine } from '../../../src/engine/runtime/engine.js'
import { createStandards } from '../../../src/standards/standards.js'
import { MemoryStore } from '../../../src/store/memory/memory-store.js'
import { openStore } from '../../../src/store/open-store.js'
import { agentsDouble } from '../../../src/testing/agents.js'
import { CountingIds, engineRig, register } from '../../../src/testing/engine-rig.js'
import { blocker } from '../../../src/testing/gate-stories.js'
import { AGENT, agentFlow, answered } from '../../../src/testing/invocations.js'
import { settled } from '../../../src/testing/manual-clock.js'
import { loopOf, next, terminate } from '../../../src/testing/orchestration.js'
import { gateDocument, intentDocument } from '../../../src/testing/standards.js'
import { sketch } from '../../../src/testing/workflow.js'
import '../../support/seed.js'
import { isThorough } from '../../support/thorough.js'
import { confusable, folded } from './confusable.js'

const BAD = { scores: { correctness: 1 }, findings: [blocker()] }
const ONCE = { max_attempts: 1, on_fail: 'reject' }

const OTHER = 'local.test.other'
/** Gates by where they stand; the rest of what there is has none. */
const GATES: { readonly [work: string]: string } = { gated: 'g-gated', 'gated-a': 'g-gated-a', [AGENT]: 'g-agent' }
const WORKFLOWS = ['gated', 'gated-a', 'plain', 'gated_a'] as const
const WORK = [...WORKFLOWS, AGENT, OTHER]
const isAgent = (work: string) => work === AGENT || work === OTHER

/** Finds a workflow under every name that looks like its own, and under the digest of any. */
class CarelessStore extends MemoryStore {
  override getWorkflow(tenant: string, workflowId: string): Promise<WorkflowRecord | undefined> {
    return super.getWorkflow(tenant, folded(workflowId))
  }
}

const folders: string[] = []
afterAll(() => Promise.all(folders.map(folder => rm(folder, { recursive: true }))))

const STORES: { readonly [name: string]: () => Promise<Store> } = {
  memory: async () => new MemoryStore(),
  'a store that takes like for like': async () => new CarelessStore(),
  SQLite: async () => {
    const folder = await mkdtemp(path.join(tmpdir(), 'assay-identity-'))
    folders.push(folder)
    return openStore(`sqlite:${path.join(folder, 'assay.db')}`)
  },
}

type Asked = Awaited<ReturnType<Engine['create']>>

/** How work is asked for. Each starts what it can; what came of it is in the store. */
const WAYS: { readonly [way: string]: (world: World, name: string) => Promise<Asked | undefined> } = {
  'a workflow of that id': ({ engine }, workflowId) => engine.create({ ...REQUEST, workflowId }),
  'an agent of that id': ({ engine }, agentId) => engine.create({ ...REQUEST, agentId, source: 'run-api' }),
  async 'a sub-workflow of that id'({ engine }, workflowId) {
    const nodes = { sub: { type: 'core.subWorkflow', config: { workflowId } } }
    const put = await engine.putWorkflow('t1', sketch({ id: 'parent', nodes }))
    return put.ok ? engine.create({ ...REQUEST, workflowId: 'parent' }) : undefined
  },
  async 'a worker that a supervisor names so'(world, name) {
    world.says = [next(name), terminate]
    return world.engine.create({ ...REQUEST, workflowId: 'boss' })
  },
}

const REQUEST = { tenant: 't1', principal: 'p', inputs: {}, transport: 'rest' as const }

type World = { readonly engine: Engine; readonly store: Store; says: JsonObject[] }

async function openWorld(store: Store): Promise<World> {
  const rig = engineRig(store, new CountingIds())
  const agents = agentsDouble({
    agents: { [AGENT]: {}, [OTHER]: {}, 'assay.verifier': {} },
    think: ({ role }) => ({ said: answered(role === 'verifier' ? BAD : 'done') }),
  })
  const schemas = { inspect: async () => undefined }
  const standards = createStandards({ store, clock: rig.clock, schemas, plans: () => world.engine.plans })
  const says = async () => ({ ok: true as const, output: world.says.shift() ?? terminate })
  const performers = new Map([['boss', { perform: says }]])
  const world: World = { engine: await rig.host({ agents, standards, performers }), store, says: [] }
  await register(world.engine, ...WORKFLOWS.map(id => agentFlow({}, { id })))
  await register(world.engine, { ...loopOf({ provider: 'boss' }), id: 'boss' })
  await standards.register('t1', 'intent', intentDocument())
  for (const [work, gate_id] of Object.entries(GATES)) {
    const position = { workflow_id: work, phase_id: isAgent(work) ? 'agent' : 'a', placement: 'phase_exit' }
    const answer = await standards.register('t1', 'gate', gateDocument({ gate_id, position, gate_behaviour: ONCE }))
    if (!answer.ok) throw new Error(JSON.stringify(answer))
  }
  return world
}

const HOSTS_OWN = ['assay-verifier', 'parent', 'boss']

/** What has begun since the last look, by the workflow it runs, with the gates it is bound to. */
async function begun({ store }: World, seen: Set<string>) {
  const rows = await store.listRuns({ tenant: 't1', limit: 1_000_000 })
  const runs = rows.filter(({ workflowId, runId }) => !HOSTS_OWN.includes(workflowId) && !seen.has(runId))
  return Promise.all(
    runs.map(async ({ runId }) => {
      seen.add(runId)
      const [first] = await store.readEvents(runId, 0, 1)
      const { workflowId, gates } = JSON.parse(first!.payload) as { workflowId: string; gates?: readonly JsonObject[] }
      return { workflowId, gates: (gates ?? []).map(gate => String(gate.gateId)) }
    }),
  )
}

/** Until nothing more comes of it. */
async function ended({ store }: World, asked: Asked | undefined): Promise<void> {
  if (!asked?.ok) return
  const { runId } = asked.value
  const deadline = Date.now() + 60_000
  while ((await store.readRun('t1', runId))?.endedAt === null) {
    expect(Date.now(), `${runId} does not end`).toBeLessThan(deadline)
    await settled()
  }
}

const workflowOf = (work: string): string => (isAgent(work) ? agentWorkflow(work).id : work)

describe.each(Object.keys(STORES))('what runs is what was asked for, over %s', name => {
  test.each(Object.keys(WAYS))('R-VERIFY-1: %s starts that work under its own gates, or nothing', async way => {
    const world = await openWorld(await STORES[name]!())
    const ask = WAYS[way]!
    const seen = new Set<string>()
    const counts = { started: 0, gated: 0, nothing: 0 }
    const mayBe = (work: string) => (way.startsWith('an agent') ? isAgent(work) : true)
    await fc.assert(
      fc.asyncProperty(confusable(WORK), async asked => {
        await ended(world, await ask(world, asked))
        const after = await begun(world, seen)
        const meant = WORK.filter(work => work === asked && mayBe(work))
        expect(after).toEqual(
          meant.map(work => ({ workflowId: workflowOf(work), gates: GATES[work] === undefined ? [] : [GATES[work]] })),
        )
        if (after.length === 0) counts.nothing += 1
        else counts[after[0]!.gates.length > 0 ? 'gated' : 'started'] += 1
      }),
      { numRuns: name === 'SQLite' ? RUNS / 4 : RUNS, examples: WORK.map(work => [work]) },
    )
    for (const count of Object.values(counts)) expect(count, JSON.stringify(counts)).toBeGreaterThan(0)
    await world.engine.stop(0)
    await world.store.close()
  })
})

const RUNS = isThorough ? 5_000 : 120
