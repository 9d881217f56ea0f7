import { completed, type NodeType } from '../node-type.js'

/** Where a workflow ends; its inputs become the run's outputs. */
export const endNode: NodeType = {
  typeId: 'core.end',
  defaultRule: 'none_failed',
  start: ({ inputs }) => completed(inputs),
}
