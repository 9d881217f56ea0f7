import { beforeEach, describe, expect, test } from 'vitest'
import type { Json, JsonObject } from '../core/json.js'
import type { BoundGate } from '../core/verification/gate.js'
import { compile, isPlan } from '../core/workflow/compile.js'
import { coreNodeTypes } from '../core/workflow/nodes/registry.js'
import type { Plan } from '../core/workflow/plan.js'
import type { StandardKind } from '../engine/ports/standards.js'
import { agentWorkflow } from '../engine/plans/agent-workflow.js'
import { MemoryStore } from '../store/memory/memory-store.js'
import { ManualClock } from '../testing/manual-clock.js'
import { gateDocument, intentDocument, knowledgeDocument } from '../testing/standards.js'
import { type Sketch, sketch } from '../testing/workflow.js'
import { createStandards, type StandardsRegistry } from './standards.js'

const workshop = { nodeTypes: new Map(coreNodeTypes.map(type => [type.typeId, type])), capabilities: new Set<string>() }

function planned(definition: Parameters<typeof compile>[0]): Plan {
  const plan = compile(definition, 'digest', workshop)
  if (!isPlan(plan)) throw new Error(plan.message)
  return plan
}

const newsroom: Sketch = {
  id: 'newsroom',
  nodes: {
    plan: 'core.noop',
    write: { type: 'core.agent', config: { agentId: 'acme.writer' } },
    edit: { type: 'core.subWorkflow', config: { workflowId: 'acme.editor', outputMapping: { text: 'result' } } },
    file: { type: 'core.subWorkflow', config: { workflowId: 'archive' } },
  },
  edges: ['plan > write', 'write > edit', 'edit > file'],
}

let plans: Map<string, Plan>
let clock: ManualClock
let store: MemoryStore
let standards: StandardsRegistry
/** Another host on the same store. */
let other: StandardsRegistry

beforeEach(() => {
  plans = new Map([['newsroom', planned(sketch(newsroom))]])
  for (const agentId of ['acme.writer', 'acme.editor', 'acme.critic']) {
    const plan = planned(agentWorkflow(agentId))
    plans.set(agentId, plan).set(plan.definition.id, plan)
  }
  clock = new ManualClock()
  store = new MemoryStore()
  const schemas = {
    inspect: async (schema: JsonObject) => (schema.type === 'nonsense' ? 'has no such type' : undefined),
  }
  const deps = {
    store,
    clock,
    schemas,
    plans: () => ({
      named: async (_: string, id: string) => plans.get(id),
      known: (_: string, id: string) => plans.get(id),
    }),
  }
  standards = createStandards(deps)
  other = createStandards(deps)
})

async function put(tenant: string | null, kind: StandardKind, document: Json) {
  const answer = await standards.register(tenant, kind, document)
  if (!answer.ok) throw new Error('refusal' in answer ? answer.refusal.message : 'replayed')
  return answer.value
}

async function refusalOf(tenant: string | null, kind: StandardKind, document: Json) {
  const answer = await standards.register(tenant, kind, document)
  return !answer.ok && 'refusal' in answer ? answer.refusal : undefined
}

async function bound(tenant: string, workflowId = 'newsroom', at = standards): Promise<readonly BoundGate[]> {
  const gates = await at.gatesFor(tenant, workflowId)
  if ('code' in gates) throw new Error(gates.message)
  return gates
}

const position = (more: JsonObject): JsonObject => ({
  workflow_id: 'newsroom',
  phase_id: 'write',
  placement: 'phase_exit',
  ...more,
})

describe('registering', () => {
  test('a document has a version, which rises when it changes and only then', async () => {
    const first = await put('acme', 'intent', intentDocument())
    expect(first).toMatchObject({ changed: true, standard: { id: 'true-reports', version: 1 } })
    const again = await put('acme', 'intent', intentDocument({ success_criteria: [] }))
    expect(again).toMatchObject({ changed: false, standard: { version: 1, hash: first.standard.hash } })
    const next = await put('acme', 'intent', intentDocument({ title: 'Reports are right' }))
    expect(next).toMatchObject({ changed: true, standard: { version: 2 } })
    expect(next.standard.hash).not.toBe(first.standard.hash)
  })

  test('what is wrong with it is told in full', async () => {
    expect(await refusalOf('acme', 'intent', { intent_id: 'x', type: 'wish', title: 'X' })).toEqual({
      code: 'validation_error',
      message:
        'intent "x": statement is required: text that is not blank, of at most 16384 characters; add it (and 1 more: see details.problems).',
      details: {
        problems: [
          'statement is required: text that is not blank, of at most 16384 characters; add it',
          'type must be one of strategic, operational, constraint; got "wish"',
        ],
      },
    })
  })

  test('a gate names what is there', async () => {
    const document = gateDocument({
      knowledge_refs: ['house-style'],
      position: position({ workflow_id: 'gone' }),
      verifier_requirements: { verifiers: ['acme.nobody', 'assay.verifier', 'acme.critic'] },
      evaluation_criteria: [
        {
          dimension: 'shape',
          scale: { min: 0, max: 1, type: 'integer' },
          pass_threshold: 1,
          probes: [{ type: 'json-schema', schema: { type: 'nonsense' } }],
        },
      ],
    })
    expect((await refusalOf('acme', 'gate', document))?.details).toEqual({
      problems: [
        'intent_refs: there is no intent "true-reports"; register it first',
        'knowledge_refs: there is no knowledge entry "house-style"; register it first',
        'position.workflow_id: there is no workflow or agent "gone"; register it first',
        'verifier_requirements.verifiers[0]: there is no agent "acme.nobody"; install it, or name assay.verifier',
        'evaluation_criteria: probe shape-1 of shape: schema has no such type',
      ],
    })
  })

  test('what comes with the project is not a tenant’s to change', async () => {
    await put(null, 'intent', intentDocument())
    expect(await refusalOf('acme', 'intent', intentDocument())).toMatchObject({ code: 'standard_shared' })
    expect(await standards.remove('acme', 'intent', 'true-reports')).toMatchObject({ code: 'standard_shared' })
    expect(await standards.find('acme', 'intent', 'true-reports')).toMatchObject({ tenant: null })
  })

  test('what a gate refers to is not deleted from under it', async () => {
    await put('acme', 'intent', intentDocument())
    await put('acme', 'gate', gateDocument())
    expect(await standards.remove('acme', 'intent', 'true-reports')).toEqual({
      code: 'standard_in_use',
      message: 'intent "true-reports" is referred to by gate report-gate; change or delete it first.',
      details: { id: 'true-reports', gates: ['report-gate'] },
    })
    expect(await standards.remove('acme', 'gate', 'report-gate')).toBeUndefined()
    expect(await standards.remove('acme', 'intent', 'true-reports')).toBeUndefined()
    expect(await standards.remove('acme', 'intent', 'true-reports')).toMatchObject({ code: 'not_found' })
  })

  test('tenants see their own and what is shared, in the order of ids', async () => {
    await put(null, 'knowledge', knowledgeDocument({ entry_id: 'm-shared' }))
    await put('acme', 'knowledge', knowledgeDocument({ entry_id: 'z-own' }))
    await put('acme', 'knowledge', knowledgeDocument({ entry_id: 'a-own' }))
    const ids = async (tenant: string) => (await standards.list(tenant, 'knowledge')).map(({ id }) => id)
    expect([await ids('acme'), await ids('beta')]).toEqual([['a-own', 'm-shared', 'z-own'], ['m-shared']])
    expect(await standards.find('beta', 'knowledge', 'a-own')).toBeUndefined()
    expect(await standards.remove('beta', 'knowledge', 'a-own')).toMatchObject({ code: 'not_found' })
  })
})

describe('R-DWS-2: where a gate can stand', () => {
  beforeEach(async () => {
    await put('acme', 'intent', intentDocument())
  })

  test.each<[string, JsonObject]>([
    ['an agent’s result', { position: position({}) }],
    [
      'a worker’s result',
      { position: position({ phase_id: 'edit', worker_id: 'acme.editor', placement: 'checkpoint' }) },
    ],
    ['the run’s outputs, with a way back', { position: position({ placement: 'workflow_exit' }) }],
    [
      'the run’s outputs, with none',
      { position: position({ phase_id: 'plan', placement: 'workflow_exit' }), gate_behaviour: { max_attempts: 1 } },
    ],
    [
      'the run’s outputs, for the record',
      { position: position({ phase_id: 'plan', placement: 'workflow_exit' }), gate_behaviour: { blocking: false } },
    ],
    [
      'the run’s outputs, by whoever has no part in it',
      { position: position({ placement: 'workflow_exit' }), verifier_requirements: { verifiers: ['acme.critic'] } },
    ],
    ['an agent’s own runs', { position: { workflow_id: 'acme.writer', phase_id: 'agent', placement: 'phase_exit' } }],
    [
      'A13: its own judge, where that is said',
      { verifier_requirements: { verifiers: ['acme.writer'], allow_self_verification: true } },
    ],
  ])('%s', async (_, more) => {
    expect((await put('acme', 'gate', gateDocument(more))).changed).toBe(true)
  })

  test.each<[string, JsonObject, string]>([
    [
      'no such phase',
      { position: position({ phase_id: 'gone' }) },
      'position.phase_id "gone" is not a node of the workflow; its nodes are plan, write, edit, file',
    ],
    [
      'a phase that gives nothing to judge',
      { position: position({ phase_id: 'plan' }) },
      'position.phase_id "plan" is a core.noop, whose output no gate can hold',
    ],
    [
      'a worker nothing is taken from',
      { position: position({ phase_id: 'file' }) },
      'node "file" maps no output of "archive", so there is nothing to judge; add config.outputMapping',
    ],
    [
      'a worker that never works there',
      { position: position({ phase_id: 'edit', worker_id: 'acme.writer' }) },
      'position.worker_id "acme.writer" never works here; "edit" runs "acme.editor"',
    ],
    [
      'a worker where none is',
      { position: position({ worker_id: 'acme.writer' }) },
      'position.worker_id is for nodes that hand work over',
    ],
    [
      'a worker of the whole',
      { position: position({ placement: 'workflow_exit', worker_id: 'acme.editor' }) },
      'position.worker_id narrows a phase_exit',
    ],
    [
      'no way back',
      { position: position({ phase_id: 'plan', placement: 'workflow_exit' }) },
      'which cannot do the work again; name a core.agent,',
    ],
    [
      'no supervisor to decide',
      { gate_behaviour: { rework: 'supervisor' } },
      'gate_behaviour.rework is "supervisor" and the workflow has none',
    ],
    [
      'A13: an agent that judges itself',
      { verifier_requirements: { verifiers: ['acme.critic', 'acme.writer'] } },
      'verifier_requirements.verifiers[1] "acme.writer" would judge its own work',
    ],
    [
      'A13: a worker that judges itself',
      { position: position({ phase_id: 'edit' }), verifier_requirements: { verifiers: ['acme.editor'] } },
      'verifier_requirements.verifiers[0] "acme.editor" would judge its own work',
    ],
    [
      'A13: an agent that judges what it had a part in',
      { position: position({ placement: 'workflow_exit' }), verifier_requirements: { verifiers: ['acme.editor'] } },
      'verifier_requirements.verifiers[0] "acme.editor" would judge its own work',
    ],
  ])('not at %s', async (_, more, problem) => {
    const refusal = await refusalOf('acme', 'gate', gateDocument(more))
    expect(refusal).toMatchObject({ code: 'validation_error', message: expect.stringContaining(problem) })
  })

  describe('in a loop that is over when the run leaves', () => {
    const inside = position({ phase_id: 'draft', placement: 'workflow_exit' })

    beforeEach(() => {
      const loop: Sketch = {
        id: 'newsroom',
        nodes: {
          again: { type: 'core.loop', config: { maxIterations: 2 } },
          draft: { type: 'core.agent', config: { agentId: 'acme.writer' } },
          end: 'core.end',
        },
        edges: ['again.body > draft', 'draft > again', 'again.done > end'],
      }
      plans.set('newsroom', planned(sketch(loop)))
    })

    test('R-DWS-20: not as the phase that the exit sends work back to', async () => {
      expect(await refusalOf('acme', 'gate', gateDocument({ position: inside }))).toMatchObject({
        code: 'validation_error',
        message: expect.stringContaining('position.phase_id "draft" is inside the loop "again"'),
      })
    })

    test.each<[string, JsonObject]>([
      ['there is one attempt', { max_attempts: 1 }],
      ['nothing is blocked', { blocking: false }],
    ])('R-DWS-20: but where nothing is sent back, because %s', async (_, gate_behaviour) => {
      expect((await put('acme', 'gate', gateDocument({ position: inside, gate_behaviour }))).changed).toBe(true)
    })

    test('R-DWS-2: and at its own exit', async () => {
      const own = position({ phase_id: 'draft', placement: 'phase_exit' })
      expect((await put('acme', 'gate', gateDocument({ position: own }))).changed).toBe(true)
    })
  })
})

describe('the gates of a workflow', () => {
  test('R-DWS-7: come with their intents, the constraints that hold, and what there is to know', async () => {
    await put('acme', 'intent', intentDocument())
    await put('acme', 'intent', intentDocument({ intent_id: 'c-all', type: 'constraint' }))
    await put('acme', 'intent', intentDocument({ intent_id: 'c-here', type: 'constraint', workflow_ids: ['newsroom'] }))
    await put('acme', 'intent', intentDocument({ intent_id: 'c-there', type: 'constraint', workflow_ids: ['other'] }))
    await put('acme', 'intent', intentDocument({ intent_id: 'c-named', type: 'constraint', workflow_ids: ['other'] }))
    await put('acme', 'knowledge', knowledgeDocument())
    await put('acme', 'knowledge', knowledgeDocument({ entry_id: 'not-named' }))
    const refs = { intent_refs: ['true-reports', 'c-named'], knowledge_refs: ['house-style'] }
    await put('acme', 'gate', gateDocument({ gate_id: 'b', ...refs }))
    await put('acme', 'gate', gateDocument({ gate_id: 'a' }))
    const [a, b, ...more] = await bound('acme')
    expect([a?.gate.gate_id, b?.gate.gate_id, more]).toEqual(['a', 'b', []])
    expect(b?.intents.map(intent => intent.intent_id)).toEqual(['true-reports', 'c-named'])
    expect(b?.constraints.map(intent => intent.intent_id)).toEqual(['c-all', 'c-here', 'c-named'])
    expect(b?.knowledge.map(entry => entry.entry_id)).toEqual(['house-style'])
    expect(b?.version).toBe(1)
    expect(await standards.gate('acme', 'b')).toEqual(b)
    expect([await standards.gate('acme', 'c'), await standards.gate('beta', 'b')]).toEqual([undefined, undefined])
  })

  test('R-DWS-7: a tenant has no say in what a gate of the project is measured by', async () => {
    await put(null, 'intent', intentDocument())
    await put(null, 'intent', intentDocument({ intent_id: 'c-shared', type: 'constraint' }))
    await put(null, 'gate', gateDocument())
    const [before] = await bound('acme')
    await put('acme', 'intent', intentDocument({ intent_id: 'c-own', type: 'constraint', statement: 'Pass it all.' }))
    await put('acme', 'gate', gateDocument({ gate_id: 'own-gate' }))
    const [ours, shared] = await bound('acme')
    expect(ours?.constraints.map(({ intent_id }) => intent_id)).toEqual(['c-own', 'c-shared'])
    expect(shared?.constraints.map(({ intent_id }) => intent_id)).toEqual(['c-shared'])
    expect(shared?.hash).toBe(before?.hash)
  })

  test('their hash changes with all that they refer to, and only then', async () => {
    const hash = async () => (await bound('acme'))[0]?.hash
    await put('acme', 'intent', intentDocument())
    await put('acme', 'knowledge', knowledgeDocument())
    await put('acme', 'gate', gateDocument({ knowledge_refs: ['house-style'] }))
    const hashes = [await hash()]
    await put('acme', 'intent', intentDocument({ intent_id: 'unrelated' }))
    expect(await hash()).toBe(hashes[0])
    await put('acme', 'intent', intentDocument({ title: 'Reports are right' }))
    hashes.push(await hash())
    await put('acme', 'knowledge', knowledgeDocument({ text: 'Long sentences.' }))
    hashes.push(await hash())
    await put('acme', 'intent', intentDocument({ intent_id: 'c-new', type: 'constraint' }))
    hashes.push(await hash())
    expect(new Set(hashes).size).toBe(4)
    for (const one of hashes) expect(one).toMatch(/^[0-9a-f]{64}$/)
  })

  test('are those of an agent’s own workflow too, by either name', async () => {
    await put('acme', 'intent', intentDocument())
    await put(
      'acme',
      'gate',
      gateDocument({ position: { workflow_id: 'acme.writer', phase_id: 'agent', placement: 'phase_exit' } }),
    )
    expect(await bound('acme', 'acme.writer')).toHaveLength(1)
    expect(await bound('acme', 'assay-agent-acme-writer')).toHaveLength(1)
    expect(await bound('acme', 'acme.editor')).toEqual([])
  })

  test('that no longer fit keep a run from starting', async () => {
    await put('acme', 'intent', intentDocument())
    await put('acme', 'gate', gateDocument())
    plans.set('newsroom', planned(sketch({ ...newsroom, nodes: { plan: 'core.noop' }, edges: [] })))
    expect(await standards.gatesFor('acme', 'newsroom')).toMatchObject({
      code: 'gate_unbound',
      message:
        'gate "report-gate" does not fit "newsroom": position.phase_id "write" is not a node of the workflow; its nodes are plan; correct the gate or delete it',
      details: { gateId: 'report-gate' },
    })
  })

  test('that refer to what the project no longer has keep a run from starting', async () => {
    await put(null, 'intent', intentDocument())
    await put('acme', 'gate', gateDocument())
    expect(await standards.share([])).toEqual([])
    expect(await standards.gatesFor('acme', 'newsroom')).toMatchObject({
      code: 'gate_unbound',
      message: expect.stringContaining('there is no intent "true-reports"'),
    })
    expect(await standards.gate('acme', 'report-gate')).toBeUndefined()
  })

  test('changes count at once here, and within a second elsewhere', async () => {
    await put('acme', 'intent', intentDocument())
    expect([await bound('acme'), await bound('acme', 'newsroom', other)]).toEqual([[], []])
    await put('acme', 'gate', gateDocument())
    expect([(await bound('acme')).length, (await bound('acme', 'newsroom', other)).length]).toEqual([1, 0])
    await clock.advance(1_000)
    expect(await bound('acme', 'newsroom', other)).toHaveLength(1)
    await standards.remove('acme', 'gate', 'report-gate')
    expect(await bound('acme')).toEqual([])
  })

  test('are known without waiting, for two seconds, and asked for anew after one', async () => {
    await put('acme', 'intent', intentDocument())
    await put('acme', 'gate', gateDocument())
    const known = () => other.knownFor('acme', 'newsroom')
    expect(known()).toBeUndefined()
    const gates = await bound('acme', 'newsroom', other)
    expect(known()).toEqual(gates)
    expect(other.knownFor('acme', 'other')).toEqual([])
    await clock.advance(1_999)
    await standards.remove('acme', 'gate', 'report-gate')
    expect(known()).toEqual(gates)
    await expect.poll(known).toEqual([])
    await clock.advance(2_000)
    expect(known()).toBeUndefined()
  })

  test('are not known while their workflow is not, nor when the store cannot be asked', async () => {
    await put('acme', 'intent', intentDocument())
    await put('acme', 'gate', gateDocument())
    await bound('acme')
    const plan = plans.get('newsroom')!
    plans.delete('newsroom')
    expect(standards.knownFor('acme', 'newsroom')).toBeUndefined()
    plans.set('newsroom', plan)
    let failed = 0
    store.listStandards = async () => {
      failed++
      throw new Error('the store is away')
    }
    await clock.advance(1_000)
    expect(standards.knownFor('acme', 'newsroom')).toHaveLength(1)
    await expect.poll(() => standards.knownFor('acme', 'newsroom')).toBeUndefined()
    expect(failed).toBe(1)
    await expect(standards.gatesFor('acme', 'newsroom')).rejects.toThrow('the store is away')
  })

  test('the project’s stands before a tenant’s of the same id', async () => {
    await put('acme', 'intent', intentDocument())
    await put('acme', 'gate', gateDocument({ gate_behaviour: { blocking: false } }))
    await put(null, 'intent', intentDocument({ title: 'The house’s own' }))
    await put(null, 'gate', gateDocument())
    const [gate, ...more] = await bound('acme')
    expect(more).toEqual([])
    expect([gate?.gate.gate_behaviour.blocking, gate?.intents[0]?.title]).toEqual([true, 'The house’s own'])
  })
})

describe('what a project shares', () => {
  const documents = [
    { file: 'gates/report.yaml', kind: 'gate', document: gateDocument() },
    { file: 'intents/true.yaml', kind: 'intent', document: intentDocument() },
  ] as const

  test('is there in any order of files, and goes with its file', async () => {
    expect(await standards.share(documents)).toEqual([])
    expect(await bound('acme')).toHaveLength(1)
    expect(await standards.share([documents[1]], ['report-gate'])).toEqual([])
    expect(await bound('acme')).toEqual([])
    expect((await standards.list('acme', 'intent')).map(({ id }) => id)).toEqual(['true-reports'])
  })

  test('a gate whose file is gone keeps its workflow from starting, until it is said that this is meant', async () => {
    await standards.share(documents)
    const [before] = await bound('acme')
    expect(await standards.share([])).toEqual([])
    const refused = {
      code: 'gate_removed',
      message: expect.stringMatching(/gate "report-gate" on "newsroom".*retired: \[report-gate\] into assay\.config/),
      details: { gateId: 'report-gate' },
    }
    expect(await standards.gatesFor('acme', 'newsroom')).toMatchObject(refused)
    // Again, and on another host: nothing but the line in the configuration changes it.
    expect(await standards.share([])).toEqual([])
    await clock.advance(1_000)
    expect(await other.gatesFor('acme', 'newsroom')).toMatchObject(refused)
    expect(await standards.gatesFor('acme', 'elsewhere')).toEqual([])
    // Children of runs that are under way are held to it as it was, with all that it refers to.
    expect(await standards.gatesFor('acme', 'newsroom', 'child')).toEqual([{ ...before, version: 2 }])
    expect(standards.knownFor('acme', 'newsroom')).toEqual([{ ...before, version: 2 }])
    expect(await standards.share([], ['report-gate'])).toEqual([])
    expect(await standards.gatesFor('acme', 'newsroom')).toEqual([])
    expect(await standards.list('acme', 'intent')).toEqual([])
  })

  test('a gate whose file is back holds again; one that is there and retired is a mistake', async () => {
    await standards.share(documents)
    await standards.share([])
    expect(await standards.share(documents)).toEqual([])
    expect(await bound('acme')).toHaveLength(1)
    expect(await standards.share(documents, ['report-gate'])).toEqual([
      'assay.config: retired names the gate "report-gate", which is there; remove it from there, or its file',
    ])
    expect(await bound('acme')).toHaveLength(1)
  })

  test('is left as it was where something is wrong; each problem names its file', async () => {
    await standards.share(documents)
    const broken = [
      { file: 'gates/other.yaml', kind: 'gate', document: gateDocument({ gate_id: 'other', intent_refs: ['gone'] }) },
    ] as const
    expect(await standards.share(broken)).toEqual([
      'gates/other.yaml: gate "other": intent_refs: there is no intent "gone"; register it first.',
    ])
    expect((await bound('acme')).map(({ gate }) => gate.gate_id)).toEqual(['report-gate'])
  })

  test('is told everything that is wrong, for at a start nobody can look at details', async () => {
    const wrong = gateDocument({ gate_id: 'other', intent_refs: ['gone'], knowledge_refs: ['lost'] })
    expect(await standards.share([{ file: 'gates/other.yaml', kind: 'gate', document: wrong }])).toEqual([
      'gates/other.yaml: intent_refs: there is no intent "gone"; register it first.',
      'gates/other.yaml: knowledge_refs: there is no knowledge entry "lost"; register it first.',
    ])
  })
})

test('what is stored under an id and is another document holds up whoever asks, rather than let work go unchecked', async () => {
  await standards.register('acme', 'intent', intentDocument())
  await standards.register('acme', 'gate', gateDocument())
  const [row] = (await store.listStandards('acme')).filter(one => one.kind === 'gate')
  await store.putStandard({ ...row!, hash: 'h2', body: row!.body.replace('report-gate', 'report-gate ') })
  await expect(other.gatesFor('acme', 'newsroom')).rejects.toThrow('is another one')
})
