import { describe, expect, it } from 'vitest'
import { loopOf, next, scripted, terminate } from '../../testing/orchestration.js'
import { type Sketch, sketch } from '../../testing/workflow.js'
import type { Json, JsonObject } from '../json.js'
import { compile, isPlan } from './compile.js'
import { coreNodeTypes } from './nodes/registry.js'

const build = (workflow: Sketch, capabilities: string[] = [], types = coreNodeTypes) =>
  compile(sketch(workflow), 'digest', {
    nodeTypes: new Map(types.map(type => [type.typeId, type])),
    capabilities: new Set(capabilities),
  })

const SUPERVISOR = 'core.orchestrator.supervisor'
const supervisor = (config: JsonObject = { mockDispatchPlan: [] }) => ({ type: SUPERVISOR, config })
const dispatching = (dispatch: JsonObject) => scripted([], { dispatch })
const ruled = (rules: Json) => loopOf({ rules })
const drawn = (edges: string[], nodes: Sketch['nodes'] = {}) => scripted([], { edges, nodes })

describe('a loop that is drawn wrong', () => {
  it.each<[string, Sketch, string]>([
    [
      'R-ORCH-13: a dispatch without a supervisor',
      { nodes: { d: 'core.dispatch' } },
      'nodes["d"] hands over what a supervisor decides; add a core.orchestrator.supervisor node',
    ],
    [
      'R-ORCH-3: a second supervisor',
      drawn(['sup > dispatch', 'dispatch > sup'], { other: supervisor() }),
      'nodes["other"] is a second supervisor besides "sup"',
    ],
    [
      'R-ORCH-13: a second dispatch in the loop',
      drawn(['sup > dispatch', 'dispatch > other', 'other > sup'], { other: 'core.dispatch' }),
      'nodes["other"] is a second dispatch in the loop of "sup"; each decision is handed over once',
    ],
    [
      'R-ORCH-13: two dispatches side by side in the loop',
      drawn(['sup > dispatch', 'sup > other'], { other: 'core.dispatch' }),
      'is a second dispatch in the loop of "sup"',
    ],
    [
      'R-ORCH-5: a supervisor inside a loop',
      drawn(['loop.body > sup', 'sup > dispatch', 'dispatch > sup', 'sup.done > loop'], {
        loop: { type: 'core.loop', config: { maxIterations: 2 } },
      }),
      'nodes["sup"] is inside loop "loop"; an orchestrator terminates once',
    ],
    [
      'R-LOOP-1: a dispatch that leads elsewhere',
      drawn(['sup > dispatch', 'dispatch > n'], { n: 'core.noop' }),
      'edges["e0"]: "dispatch" does not lead back to "sup"; add an edge back',
    ],
    [
      'R-LOOP-1: a way into the body from outside',
      drawn(['sup > dispatch', 'dispatch > sup', 'n > dispatch'], { n: 'core.noop' }),
      '"dispatch" is inside loop "sup" and can only be reached through it',
    ],
    [
      'R-LOOP-12: the port done to what leads back',
      drawn(['sup.done > dispatch', 'dispatch > sup']),
      'edges["e0"].sourceOutput must be "body" or left out: "dispatch" leads back to the supervisor',
    ],
    [
      'R-LOOP-12: the port body to what does not lead back',
      drawn(['sup > dispatch', 'dispatch > sup', 'sup.body > n'], { n: 'core.noop' }),
      'edges["e2"].sourceOutput must be "done" or left out: "n" does not lead back to the supervisor',
    ],
    [
      'R-LOOP-12: a port that a supervisor does not have',
      drawn(['sup.next > dispatch', 'dispatch > sup']),
      'edges["e0"].sourceOutput must be "body" or left out',
    ],
    [
      'R-LOOP-1: a circle beside the loop',
      drawn(['sup > dispatch', 'dispatch > sup', 'a > b', 'b > a'], { a: 'core.noop', b: 'core.noop' }),
      'a → b → a is a cycle',
    ],
  ])('%s is refused', (_what, workflow, message) => {
    const result = build(workflow)
    expect(result).toMatchObject({ code: 'validation_error', message: expect.stringContaining(message) })
  })

  it('R-LOOP-10 R-LOOP-12: a way out of the body that the supervisor does not take is refused', () => {
    const result = build(drawn(['sup > dispatch', 'dispatch > sup', 'dispatch > n'], { n: 'core.noop' }))
    expect(result).toMatchObject({ code: 'validation_error' })
  })

  it.each<[string, Sketch]>([
    ['with the ports named', drawn(['sup.body > dispatch', 'dispatch > sup', 'sup.done > n'], { n: 'core.noop' })],
    ['without an edge back', drawn(['sup > dispatch'])],
    ['behind other nodes', drawn(['n > sup', 'sup > dispatch'], { n: 'core.noop' })],
    [
      'with a loop in its body',
      drawn(['sup > l', 'l.body > n', 'n > l', 'l.done > dispatch', 'dispatch > sup'], {
        l: { type: 'core.loop', config: { maxIterations: 2 } },
        n: 'core.noop',
      }),
    ],
    ['that only asks', { id: 'conformance-x', nodes: { sup: supervisor() } }],
  ])('R-LOOP-1: one that is drawn right, %s, is taken', (_what, workflow) => {
    expect(build(workflow)).toSatisfy(result => isPlan(result as never))
  })

  it('R-ORCH-8: a host without supervisors does not take one', () => {
    const without = coreNodeTypes.filter(({ typeId }) => typeId !== SUPERVISOR)
    expect(build({ id: 'conformance-x', nodes: { sup: supervisor() } }, [], without)).toMatchObject({
      code: 'validation_error',
      message: expect.stringContaining(`typeId "${SUPERVISOR}" is not known here`),
    })
  })
})

describe('the source of a supervisor’s decisions', () => {
  it.each<[string, Sketch, string]>([
    ['none', loopOf({}), 'config has no source of decisions; give config.prompt, config.agentId'],
    ['a model without its provider', loopOf({ prompt: 'p', model: 'm' }), 'config.model must be provider:model'],
    ['an empty prompt', loopOf({ prompt: ' ' }), 'config.prompt must be the text'],
    ['a prompt and an agent', loopOf({ prompt: 'p', agentId: 'local.a.b' }), 'keep one of them'],
    ['tools that are no list', loopOf({ prompt: 'p', toolAllowlist: 'all' }), 'config.toolAllowlist must be a list'],
    [
      'rules and provider',
      loopOf({ rules: [{ decide: terminate }], provider: 'm' }),
      'config has more than one source of decisions',
    ],
    ['rules and a script', loopOf({ rules: [{ decide: terminate }], mockDispatchPlan: [] }), 'more than one source'],
    ['a provider without a name', loopOf({ provider: '' }), 'config.provider must be text that is not empty'],
    ['a provider that is no name', loopOf({ provider: 7 }), 'config.provider must be text that is not empty'],
    ['rules that are no list', ruled({}), 'config.rules must be a list of 1 to 1000 items'],
    ['no rules at all', ruled([]), 'config.rules must be a list of 1 to 1000 items'],
    ['a rule that is none', ruled(['x', { decide: terminate }]), 'config.rules[0] must be an object'],
    [
      'a rule with more',
      ruled([{ decide: terminate, otherwise: 1 }]),
      'config.rules[0].otherwise is not a known field',
    ],
    [
      'a rule that decides nothing',
      ruled([{ when: 'true' }, { decide: terminate }]),
      'config.rules[0].decide is required: an object with a kind',
    ],
    [
      'a rule with a bad decision',
      ruled([{ decide: { kind: 'delegate' } }]),
      'config.rules[0].decide.kind must be one of',
    ],
    [
      'a when that is no text',
      ruled([{ when: true, decide: terminate }, { decide: terminate }]),
      'config.rules[0].when must be a CEL',
    ],
    [
      'a when that cannot be read',
      ruled([{ when: '1 +', decide: terminate }, { decide: terminate }]),
      'config.rules[0].when cannot be read as CEL',
    ],
    [
      'a last rule with a when',
      ruled([{ when: 'true', decide: terminate }]),
      'config.rules[0] is the last and must have no when',
    ],
    ['a script that is no list', loopOf({ mockDispatchPlan: {} }), 'config.mockDispatchPlan must be a list'],
    [
      'a script with a bad decision',
      loopOf({ mockDecisions: [terminate, { kind: 'x' }] }),
      'config.mockDecisions[1].kind must be one of',
    ],
    [
      'a held decision without a confidence',
      loopOf({ mockPendingDecision: terminate }),
      'config.mockConfidence and config.mockPendingDecision belong together',
    ],
    [
      'a confidence without a decision',
      loopOf({ mockConfidence: 0.2 }),
      'config.mockConfidence and config.mockPendingDecision belong together',
    ],
    [
      'a confidence out of range',
      loopOf({ mockConfidence: 2, mockPendingDecision: terminate }),
      'config.mockConfidence must be',
    ],
    [
      'a time to answer that is none',
      loopOf({ mockDispatchPlan: [], timeoutMs: -1 }),
      'config.timeoutMs must be a whole number',
    ],
  ])('R-LOOP-11 R-ORCH-1: %s is refused', (_what, workflow, message) => {
    expect(build(workflow)).toMatchObject({ code: 'validation_error', message: expect.stringContaining(message) })
  })

  it.each<[string, JsonObject]>([
    ['mockDispatchPlan', { mockDispatchPlan: [terminate] }],
    ['mockDecisions', { mockDecisions: [terminate] }],
    ['mockConfidence', { mockConfidence: 1, mockPendingDecision: terminate }],
  ])('R-ORCH-11: %s is for conformance only', (field, config) => {
    expect(build(loopOf(config, { id: 'mine' }))).toMatchObject({
      code: 'validation_error',
      message: expect.stringContaining(`config.${field} is for conformance runs only`),
    })
    expect(isPlan(build(loopOf(config, { id: 'conformance-mine' })) as never)).toBe(true)
    expect(isPlan(build(loopOf(config, { id: 'mine' }), ['assay.conformance']) as never)).toBe(true)
  })

  it('R-LOOP-11: none is enough in conformance mode, whatever the workflow is called, and only there', () => {
    expect(isPlan(build(loopOf({}, { id: 'mine' }), ['assay.conformance']) as never)).toBe(true)
    expect(isPlan(build(loopOf({}, { id: 'conformance-dispatch-loop' })) as never)).toBe(false)
  })

  it('R-LOOP-11: rules, a provider, a prompt and an agent need no leave', () => {
    for (const config of [
      { rules: [{ decide: next('a') }] },
      { provider: 'm', prompt: 'p', model: 'x' },
      { prompt: 'decide', model: 'openai:gpt-5-mini', toolAllowlist: ['mcp:files.read'] },
      { agentId: 'local.team.planner' },
    ])
      expect(isPlan(build(loopOf(config, { id: 'mine' })) as never)).toBe(true)
  })
})

describe('the configuration of a dispatch', () => {
  it.each<[string, JsonObject, string]>([
    [
      'an unknown field',
      { fanout: 1 },
      'config.fanout is not a known field; remove it: the known fields are askUserRouting, workerDispatchModel',
    ],
    ['a field that every object has', { toString: 1 }, 'config.toString is not a known field'],
    [
      'conversation',
      { askUserRouting: 'conversation' },
      '"conversation" needs conversationPrimitive, which this host does not have',
    ],
    ['another routing', { askUserRouting: 'mail' }, 'config.askUserRouting must be one of clarification, auto'],
    ['another model', { workerDispatchModel: 'thread' }, 'config.workerDispatchModel must be child-run'],
    ['another policy', { fanOutPolicy: 'race' }, 'config.fanOutPolicy must be one of sequential, reject, parallel'],
    ['a cap of zero', { iterationCap: 0 }, 'config.iterationCap must be a whole number, 1 or more'],
    ['half a turn', { iterationCap: 1.5 }, 'config.iterationCap must be a whole number'],
    [
      'inputs that are no map',
      { inputMapping: ['x'] },
      'config.inputMapping must be an object that maps child variables to parent variables',
    ],
    [
      'outputs that map to numbers',
      { outputMapping: { x: 1 } },
      'config.outputMapping.x must be the name of a variable',
    ],
    [
      'inputs per worker that are no maps',
      { perWorkerInputMappings: { a: 'x' } },
      'config.perWorkerInputMappings.a must be an object that maps',
    ],
    [
      'outputs per worker that are no maps',
      { perWorkerOutputMappings: { a: { x: 1 } } },
      'config.perWorkerOutputMappings.a.x must be the name of a variable',
    ],
    [
      'an unknown isolation',
      { memoryScopeIsolation: 'shared' },
      'config.memoryScopeIsolation must be one of inherit, isolated; got "shared"',
    ],
    [
      'a half-hearted cancellation',
      { propagateCancellation: 'no' },
      'config.propagateCancellation must be true or false',
    ],
    ['an attestation that is none', { outputAttestation: true }, 'config.outputAttestation must be an object'],
    [
      'an unknown field of it',
      { outputAttestation: { hash: true } },
      'config.outputAttestation.hash is not a known field',
    ],
    [
      'another algorithm',
      { outputAttestation: { algorithm: 'md5' } },
      'config.outputAttestation.algorithm must be sha256',
    ],
    [
      'a checksum that is no switch',
      { outputAttestation: { checksum: 'yes' } },
      'config.outputAttestation.checksum must be true or false',
    ],
    [
      'an approval that is no switch',
      { outputAttestation: { requireApproval: 1 } },
      'outputAttestation.requireApproval must be',
    ],
    [
      'scopes that are no list',
      { outputAttestation: { principalScope: 'a' } },
      'outputAttestation.principalScope must be a list',
    ],
  ])('R-ORCH-13: %s is refused', (_what, config, message) => {
    expect(build(dispatching(config))).toMatchObject({
      code: 'validation_error',
      message: expect.stringContaining(message),
    })
  })

  it('R-ORCH-13 D2: all that is known is taken together', () => {
    const config = {
      askUserRouting: 'clarification',
      workerDispatchModel: 'child-run',
      fanOutPolicy: 'parallel',
      iterationCap: 3,
      inputMapping: { x: 'p' },
      outputMapping: { q: 'y' },
      perWorkerInputMappings: { a: {} },
      perWorkerOutputMappings: { a: { r: 'z' } },
      propagateCancellation: false,
      memoryScopeIsolation: 'isolated',
      outputAttestation: { checksum: true, algorithm: 'sha256', requireApproval: true, principalScope: ['s'] },
    }
    expect(isPlan(build(dispatching(config)) as never)).toBe(true)
  })

  it.each<[string, JsonObject, string]>([
    ['outputMapping', { outputMapping: { log: 'x' } }, 'config.outputMapping: "log" is a channel; map to a variable'],
    [
      'a worker’s own map',
      { perWorkerOutputMappings: { a: { log: 'x' } } },
      'config.perWorkerOutputMappings["a"]: "log" is a channel',
    ],
  ])('R-MAP-3: %s to a channel is refused', (_what, dispatch, message) => {
    const channels = { log: { reducer: 'append' as const } }
    expect(build(scripted([], { dispatch, channels }))).toMatchObject({ message: expect.stringContaining(message) })
  })

  it('R-MAP-3 R-ATTEST-7: a sub-workflow is held to the same', () => {
    const sub = (config: JsonObject) => ({
      nodes: { sub: { type: 'core.subWorkflow', config: { workflowId: 'w', ...config } } },
      channels: { log: { reducer: 'append' as const } },
    })
    expect(build(sub({ outputMapping: { log: 'x' } }))).toMatchObject({
      message: expect.stringContaining('"log" is a channel'),
    })
    expect(build(sub({ outputAttestation: { hash: 1 } }))).toMatchObject({
      message: expect.stringContaining('hash is not a known field'),
    })
    expect(build(sub({ onChildFailure: 'ignore' }))).toMatchObject({
      message: expect.stringContaining('onChildFailure must be'),
    })
    expect(build(sub({ waitForCompletion: false }))).toMatchObject({
      message: expect.stringContaining('waitForCompletion must be true, or left out: false is not supported'),
    })
    expect(isPlan(build(sub({ outputAttestation: { checksum: true } })) as never)).toBe(true)
  })
})
