import { Closed } from '../../schema/kinds.js'
import { completed, type NodeType } from '../node-type.js'

export const startNode = {
  typeId: 'core.start',
  about: 'Where a workflow begins; its outputs are the inputs of the run.',
  config: Closed({}),
  start: ({ runInputs }) => completed(runInputs),
} as const satisfies NodeType
