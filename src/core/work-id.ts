/**
 * Ids under which work is asked for. Printable ASCII only: no database, file system or JSON library takes one of them
 * for another, so that what runs is what was asked for, under the gates of that name.
 */

export const WORKFLOW_ID = '[a-z][a-z0-9_-]{0,127}'

/** Agent ids have a dot, workflow ids have none: where one may be named, both can be. */
export const AGENT_ID = '[A-Za-z0-9:_-]*\\.[A-Za-z0-9:._-]{1,255}'

/** Either, and nothing else. */
export const WORK_ID = `^(${WORKFLOW_ID}|${AGENT_ID})$`

/** What a refusal says of a text that is neither. */
export const WORK_ID_RULE = 'the id of a workflow (a-z, 0-9, _ and -, first a letter) or of an agent (with a dot)'

const workflowId = new RegExp(`^${WORKFLOW_ID}$`)
const agentId = new RegExp(`^${AGENT_ID}$`)

export const isWorkflowId = (text: string): boolean => workflowId.test(text)

export const isAgentId = (text: string): boolean => text.length <= 256 && agentId.test(text)

/** Of a workflow, or of an agent, whose run is then meant. */
export const isWorkId = (text: string): boolean => isWorkflowId(text) || isAgentId(text)
