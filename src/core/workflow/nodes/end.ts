import { Closed } from '../../schema/kinds.js'
import { completed, type NodeType } from '../node-type.js'

export const endNode = {
  typeId: 'core.end',
  about: 'Where a workflow ends; its inputs become the outputs of the run.',
  config: Closed({}),
  defaultRule: 'none_failed',
  start: ({ inputs }) => completed(inputs),
} as const satisfies NodeType
