import { Closed } from '../../schema/kinds.js'
import { completed, type NodeType } from '../node-type.js'

export const noopNode = {
  typeId: 'core.noop',
  about: 'Completes at once, without outputs.',
  config: Closed({}),
  start: () => completed(),
} as const satisfies NodeType
