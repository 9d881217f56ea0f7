import { Closed } from '../../schema/kinds.js'
import { completed, type NodeType } from '../node-type.js'

export const identityNode = {
  typeId: 'core.identity',
  about: 'Gives its input `payload` as its output `payload`.',
  config: Closed({}),
  start: ({ inputs }) => completed('payload' in inputs ? { payload: inputs.payload ?? null } : {}),
} as const satisfies NodeType
