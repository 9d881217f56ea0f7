import { completed, type NodeType } from '../node-type.js'

/** Fans out: every edge that leaves it starts its own branch. */
export const parallelNode: NodeType = { typeId: 'core.parallel', start: ({ inputs }) => completed(inputs) }
