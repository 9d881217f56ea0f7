import { Closed } from '../../schema/kinds.js'
import { completed, type NodeType } from '../node-type.js'

export const parallelNode = {
  typeId: 'core.parallel',
  about: 'Fans out: every edge that leaves it starts its own branch. Its inputs are its outputs.',
  config: Closed({}),
  start: ({ inputs }) => completed(inputs),
} as const satisfies NodeType
