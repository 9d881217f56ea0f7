import { completed, type NodeType } from '../node-type.js'

/** Joins branches: waits for all, needs one that succeeded and none that failed; gives their outputs by node id. */
export const mergeNode: NodeType = {
  typeId: 'core.merge',
  defaultRule: 'none_failed',
  start: ({ inbound, inputs }) => completed({ ...inputs, results: inbound }),
}
