import { Type } from 'typebox'
import { LONGEST_AGENT_ID, patternOf } from '../core/names.js'

/** Path and body ids. Anything that cannot be an id we gave out is answered as unknown, before a store sees it. */
export const ID_PATTERNS = {
  runId: patternOf('runId'),
  workflowId: patternOf('workflowId'),
  artifactId: patternOf('artifactId'),
  /** Of a verification within its run. */
  number: '^(0|[1-9][0-9]{0,8})$',
  keyId: patternOf('keyId'),
  tenant: patternOf('tenant'),
  webhookId: patternOf('webhookId'),
  nodeId: patternOf('nodeId'),
  agentId: patternOf('agentId'),
  toolId: patternOf('toolId'),
  gateId: patternOf('gateId'),
  intentId: patternOf('intentId'),
  entryId: patternOf('entryId'),
  promptId: patternOf('promptId'),
  memoryId: patternOf('memoryId'),
  scheduleId: patternOf('runId'),
  commitmentId: patternOf('runId'),
  goalId: patternOf('runId'),
  path: patternOf('filePath'),
  /** Anything: what is no token of ours is an unknown interrupt, not an unknown path. */
  token: '^',
} as const

export type IdName = keyof typeof ID_PATTERNS

export const RunId = Type.String({ pattern: ID_PATTERNS.runId })
export const WorkflowId = Type.String({ pattern: ID_PATTERNS.workflowId })
export const NodeId = Type.String({ pattern: ID_PATTERNS.nodeId, minLength: 1, maxLength: 128 })
/** Of a variable, channel, port, group or edge. */
export const PartName = Type.String({ pattern: patternOf('part'), minLength: 1, maxLength: 256 })
export const Tag = Type.String({ pattern: patternOf('tag'), minLength: 1, maxLength: 256 })
export const ScopeId = Type.String({ pattern: patternOf('scopeId'), minLength: 1, maxLength: 256 })
export const MemoryScope = Type.String({
  pattern: patternOf('memoryScope'),
  minLength: 1,
  maxLength: 256,
  'x-refusal':
    'must have 1 to 256 characters, none of them a control character, and not begin with run: or fork:, which are scopes of single runs',
})
/** Of a workflow, or of an agent, whose run is then meant. */
export const WorkId = Type.String({ pattern: patternOf('workId'), minLength: 1, maxLength: LONGEST_AGENT_ID })
export const Timestamp = Type.String({ format: 'date-time' })
