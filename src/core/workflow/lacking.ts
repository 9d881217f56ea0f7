import { isObject, type Json, own } from '../json.js'
import { type Refusal, refuse } from '../problem.js'
import type { Workshop } from './compile.js'
import type { WorkflowDefinition, WorkflowNode } from './definition.js'

/** Node types of the protocol that need a capability this host does not have yet (contract core §2.1). */
const GATED: { readonly [typeId: string]: string } = {
  'core.conversationGate': 'conversationPrimitive',
}

/** R-MAP-7: what a node needs of the host once it maps variables. */
const MAPPING: { readonly [typeId: string]: string } = {
  'core.dispatch': 'agents.dispatchMapping',
  'core.subWorkflow': 'subWorkflow.inputMapping',
}

const MAPS = ['inputMapping', 'perWorkerInputMappings', 'outputMapping', 'perWorkerOutputMappings']

/** What a definition asks for that this host does not have. */
export function lackingFor({ nodes }: WorkflowDefinition, { nodeTypes, switchedOff }: Workshop): Refusal | undefined {
  for (const node of nodes) {
    const gated = own(GATED, node.typeId)
    if (gated !== undefined && !nodeTypes.has(node.typeId)) return capabilityRequired(node, gated)
    const mapping = own(MAPPING, node.typeId)
    if (mapping === undefined || !switchedOff?.has(mapping)) continue
    const field = MAPS.find(name => isFilled(node.config[name]))
    if (field !== undefined) return mappingRefused(node, field, mapping)
  }
  return undefined
}

const isFilled = (map: Json | undefined): boolean => isObject(map ?? null) && Object.keys(map as object).length > 0

function capabilityRequired({ id, typeId }: WorkflowNode, requiredCapability: string): Refusal {
  const message = `nodes["${id}"].typeId "${typeId}" needs the capability ${requiredCapability}, which this host does not have`
  return refuse('capability_required', message, { requiredCapability, offendingTypeId: typeId, nodeId: id })
}

function mappingRefused({ id }: WorkflowNode, field: string, requiredCapability: string): Refusal {
  const where = `nodes["${id}"].config.${field}`
  const message = `${where} needs the capability ${requiredCapability}, which is switched off here; leave it out, or switch the capability on`
  return refuse('validation_error', message, { field: where, requiredCapability })
}
