import { AGENT_ID, WORK_ID } from '../core/work-id.js'
import { matching, type Read } from './reader.js'

/** Where a document came from. What can harm the host itself is taken from its operator's own folder only. */
export type Origin = 'project' | 'api'

export const standardId: Read<string> = matching(
  /^[a-zA-Z0-9][a-zA-Z0-9._-]{0,127}$/,
  'an id of 1 to 128 letters, digits and . _ -',
)

/** R-DWS-32: keys appear on the wire, so their spelling is narrow. */
export const key: Read<string> = matching(
  /^[a-z0-9][a-z0-9._-]{0,63}$/,
  'a key of 1 to 64 lower-case letters, digits and . _ -',
)

export const agentId: Read<string> = matching(new RegExp(`^${AGENT_ID}$`), 'the id of an agent')

/** Of a workflow, or of an agent whose runs are meant. */
export const workflowId: Read<string> = matching(new RegExp(WORK_ID), 'the id of a workflow or of an agent')
