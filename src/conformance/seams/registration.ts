import { type Static, Type } from 'typebox'
import type { Json, JsonObject } from '../../core/json.js'
import { OneOf } from '../../core/schema/kinds.js'
import type { RunEngine } from '../../engine/api.js'
import { json, problem } from '../../http/http-answer.js'
import { type Route, route } from '../../http/route.js'
import { NodeId, WorkflowId } from '../../wire/ids.js'
import { SWITCHABLE, type SwitchedOff } from '../switched-off.js'

/** Asks whether the seam is there. */
const PROBE = '__probe__'

const Toggle = Type.Object({
  name: Type.Optional(OneOf([...SWITCHABLE, PROBE], { description: 'Which capability' })),
  value: Type.Optional(
    Type.Union([Type.Boolean(), Type.Null()], { description: 'false switches it off; true or null, on again' }),
  ),
  reset: Type.Optional(Type.Boolean({ description: 'true switches all of them on again' })),
})

const Overlay = Type.Object({ overlay: Type.Record(Type.String(), Type.Boolean()) })

export const toggleCapability = (switchedOff: SwitchedOff): Route =>
  route({
    method: 'POST',
    path: '/v1/host/sample/test/capability-toggle',
    operation: 'toggleCapability',
    summary: 'Conformance mode only: what registration takes the host of this tenant to be capable of',
    access: 'authenticated',
    body: Toggle,
    responses: { 200: { description: 'What is switched off now', schema: Overlay } },
    refusals: ['validation_error'],
    handle({ caller: { tenant }, body: { name, value = null, reset } }) {
      if (reset) switchedOff.reset(tenant)
      if (name !== undefined && name !== PROBE) switchedOff.switch(tenant, name, value !== false)
      return json(200, { overlay: Object.fromEntries([...switchedOff.of(tenant)].map(off => [off, false])) })
    },
  })

const Sequence = Type.Object({
  workflowId: WorkflowId,
  nodes: Type.Array(
    Type.Object({
      nodeId: NodeId,
      typeId: Type.String({ minLength: 1, maxLength: 256 }),
      config: Type.Optional(Type.Record(Type.String(), Type.Unsafe<Json>({}))),
    }),
    { minItems: 1, maxItems: 100 },
  ),
})

export const registerSequence = (engine: Pick<RunEngine, 'putWorkflow'>): Route =>
  route({
    method: 'POST',
    path: '/v1/host/sample/workflows',
    operation: 'registerSequence',
    summary: 'Conformance mode only: registers nodes that run one after the other',
    access: 'workflows:write',
    body: Sequence,
    responses: {
      201: {
        description: 'It can be run',
        schema: Type.Object({ workflowId: WorkflowId, nodeCount: Type.Integer() }),
      },
    },
    refusals: ['validation_error', 'capability_required'],
    async handle({ caller, body }) {
      const answer = await engine.putWorkflow(caller.tenant, definitionOf(body), {
        principal: caller.principal,
        scopes: [...caller.scopes],
      })
      if (answer.ok) return json(201, { workflowId: body.workflowId, nodeCount: body.nodes.length })
      if ('refusal' in answer) return problem(answer.refusal)
      throw new Error('the engine gave a remembered response that was not asked for')
    },
  })

const SUPERVISOR = 'core.orchestrator.supervisor'
const DISPATCH = 'core.dispatch'

/** Each node after the one before it; a dispatch goes back to the supervisor that it stands behind. */
function definitionOf({ workflowId, nodes }: Static<typeof Sequence>): JsonObject {
  const edges: JsonObject[] = []
  const lead = (sourceNodeId: string, targetNodeId: string) =>
    edges.push({ id: `e${edges.length + 1}`, sourceNodeId, targetNodeId })
  let last: string | undefined
  for (const [i, { nodeId, typeId }] of nodes.entries()) {
    if (last !== undefined) lead(last, nodeId)
    const before = nodes[i - 1]
    const isOrchestrated = typeId === DISPATCH && before?.typeId === SUPERVISOR
    if (isOrchestrated) lead(nodeId, before.nodeId)
    last = isOrchestrated ? before.nodeId : nodeId
  }
  return {
    id: workflowId,
    name: workflowId,
    version: '1.0',
    nodes: nodes.map(({ nodeId, typeId, config = {} }, i) => ({
      id: nodeId,
      typeId,
      name: nodeId,
      position: { x: 200 * i, y: 0 },
      config,
      inputs: {},
    })),
    edges,
    triggers: [{ id: 'manual', type: 'manual', enabled: true }],
    variables: [],
    metadata: {},
    settings: {},
  }
}
