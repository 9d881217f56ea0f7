import { STREAM_WORKFLOWS } from '../../core/standing/stream.js'
import type { WorkflowDefinition } from '../../core/workflow/definition.js'
import { sha256 } from '../../digest.js'
import { hostWorkflow } from './host-workflows.js'

/** Workflows whose names begin so are made by the host. */
export const RESERVED = 'assay-agent-'

/** Whether only the host may give a workflow this id. */
export const isReserved = (workflowId: string): boolean =>
  hostWorkflow(workflowId) !== undefined || STREAM_WORKFLOWS.includes(workflowId) || workflowId.startsWith(RESERVED)

/** The run of one agent: what it is given is its task, what it comes to is the run's output and its variable `result`. */
export const agentWorkflow = (agentId: string): WorkflowDefinition => ({
  id: workflowIdOf(agentId),
  name: agentId,
  version: '1.0.0',
  nodes: [
    {
      id: 'agent',
      typeId: 'core.agent',
      name: agentId,
      position: { x: 0, y: 0 },
      agent: { agentId },
      config: { resultVariable: 'result' },
      inputs: {},
    },
  ],
  edges: [],
  triggers: [],
  variables: [],
  metadata: {},
  settings: {},
})

/** No two agents share one: where dots and dashes could be mistaken for each other, a hash tells them apart. */
function workflowIdOf(agentId: string): string {
  const plain = `${RESERVED}${agentId.toLowerCase().replaceAll('.', '-')}`
  if (/^[a-z0-9.]{1,100}$/.test(agentId)) return plain
  return `${plain.slice(0, 100)}-${sha256(agentId).slice(0, 12)}`
}
