import { Type } from 'typebox'
import { WORK_ID, WORKFLOW_ID } from '../core/work-id.js'

/** Path and body ids. Anything that cannot be an id we gave out is answered as unknown, before a store sees it. */
export const ID_PATTERNS = {
  runId: '^[A-Za-z0-9_-]{1,128}$',
  workflowId: `^${WORKFLOW_ID}$`,
  artifactId: '^art-(0|[1-9][0-9]{0,14})$',
  /** Of a verification within its run. */
  number: '^(0|[1-9][0-9]{0,8})$',
  keyId: '^[A-Za-z0-9_-]{1,128}$',
  tenant: '^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$',
  webhookId: '^[A-Za-z0-9_-]{1,128}$',
  nodeId: '^[^\\u0000]{1,128}$',
  agentId: '^[A-Za-z0-9:._-]{1,256}$',
  toolId: '^[^\\u0000]{1,512}$',
  gateId: '^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$',
  intentId: '^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$',
  entryId: '^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$',
  promptId: '^[^\\u0000]{1,256}$',
  /** Anything: what is no token of ours is an unknown interrupt, not an unknown path. */
  token: '^',
} as const

export type IdName = keyof typeof ID_PATTERNS

export const RunId = Type.String({ pattern: ID_PATTERNS.runId })
export const WorkflowId = Type.String({ pattern: ID_PATTERNS.workflowId })
/** Of a workflow, or of an agent, whose run is then meant. */
export const WorkId = Type.String({ pattern: WORK_ID, minLength: 1, maxLength: 256 })
export const Timestamp = Type.String({ format: 'date-time' })
