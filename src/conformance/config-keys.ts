import { isObject, type Json } from '../core/json.js'

/**
 * The configuration that nodes of the conformance suite are given and heed here, by node type (contract agents §26). A
 * fixture with any other key would be taken and then not do what it is there to show, so it is not taken.
 */
const HEEDED: { readonly [typeId: string]: readonly string[] } = {
  'core.approvalGate': ['title', 'description', 'actions', 'profile', 'requiredApprovals', 'approversList'],
  'core.clarificationGate': ['questions', 'contextType', 'timeoutMs'],
  'core.conformance.mock-agent': [
    'agentId',
    'mockReasoning',
    'mockToolCalls',
    'mockHandoff',
    'mockDecision',
    'mockConfidence',
  ],
  'core.delay': ['delayMs', 'durationMs', 'ms'],
  'core.dispatch': [
    'askUserRouting',
    'workerDispatchModel',
    'fanOutPolicy',
    'iterationCap',
    'inputMapping',
    'outputMapping',
    'perWorkerInputMappings',
    'perWorkerOutputMappings',
    'outputAttestation',
    'propagateCancellation',
  ],
  'core.fail': ['code', 'message'],
  'core.interrupt': ['kind', 'data', 'timeoutMs', 'resumeSchema'],
  'core.orchestrator.supervisor': ['mockDispatchPlan', 'mockDecisions', 'mockConfidence', 'mockPendingDecision'],
  'core.subWorkflow': [
    'workflowId',
    'waitForCompletion',
    'onChildFailure',
    'inputMapping',
    'outputMapping',
    'outputAttestation',
    'propagateCancellation',
  ],
}

/** Whatever a fixture asks of the host beyond its nodes and this host does not do. */
const UNHEEDED_METADATA = ['requiresAgentId']

/** Every key of a fixture that nothing would come of, with where it stands. */
export function ignoredKeys(definition: unknown): string[] {
  if (!isObject(definition as Json)) return []
  const { nodes, metadata } = definition as { nodes?: Json; metadata?: Json }
  const asked = isObject(metadata ?? null) ? Object.keys(metadata as object) : []
  return [
    ...(Array.isArray(nodes) ? nodes.flatMap(ignoredOf) : []),
    ...asked.filter(key => UNHEEDED_METADATA.includes(key)).map(key => `metadata.${key}`),
  ]
}

function ignoredOf(node: Json): string[] {
  if (!isObject(node)) return []
  const { id, typeId, config } = node
  const heeded = (typeof typeId === 'string' && Object.hasOwn(HEEDED, typeId) ? HEEDED[typeId] : undefined) ?? []
  return Object.keys(isObject(config ?? null) ? (config as object) : {})
    .filter(key => !heeded.includes(key))
    .map(key => `nodes["${String(id)}"].config.${key}`)
}
