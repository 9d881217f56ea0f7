import type { WorkflowDefinition, WorkflowNode } from '../../core/workflow/definition.js'
import { GOAL_JUDGE_NODE, GOAL_JUDGE_WORKFLOW, JUDGE_WORKFLOW, judgeNode } from '../../core/workflow/nodes/judge.js'
import { VERIFIER_WORKFLOW, verifyNode } from '../../core/workflow/nodes/verify.js'

const single = (
  id: string,
  nodeId: string,
  typeId: string,
  more: Partial<Pick<WorkflowNode, 'outputSensitivity' | 'config'>> = {},
): WorkflowDefinition => ({
  id,
  name: id,
  version: '1.0.0',
  nodes: [{ id: nodeId, typeId, name: nodeId, position: { x: 0, y: 0 }, config: {}, inputs: {}, ...more }],
  edges: [],
  triggers: [],
  variables: [],
  metadata: {},
  settings: {},
})

/** Workflows that only the host can make; what they are made of, no workflow of a user's may hold. */
const HOST_WORKFLOWS: { readonly [id: string]: WorkflowDefinition } = {
  /** The run of one verifier: what it judges is what the run is given, its variable `verification` what it came to. */
  [VERIFIER_WORKFLOW]: single(VERIFIER_WORKFLOW, 'verify', verifyNode.typeId, { outputSensitivity: { result: true } }),
  /** A result is put to a gate, and nothing else happens. */
  [JUDGE_WORKFLOW]: single(JUDGE_WORKFLOW, 'judge', judgeNode.typeId),
  /** What a contributing run has left is put to the gate that its goal names. */
  [GOAL_JUDGE_WORKFLOW]: single(GOAL_JUDGE_WORKFLOW, GOAL_JUDGE_NODE, judgeNode.typeId, { config: { goal: true } }),
}

export const hostWorkflow = (id: string): WorkflowDefinition | undefined =>
  Object.hasOwn(HOST_WORKFLOWS, id) ? HOST_WORKFLOWS[id] : undefined
