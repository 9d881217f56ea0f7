import { Closed } from '../../schema/kinds.js'
import { completed, type NodeType } from '../node-type.js'

export const mergeNode = {
  typeId: 'core.merge',
  about:
    'Joins branches: waits for all, needs one that succeeded and none that failed; its output `results` has their outputs by node id.',
  config: Closed({}),
  defaultRule: 'none_failed',
  start: ({ inbound, inputs }) => completed({ ...inputs, results: inbound }),
} as const satisfies NodeType
