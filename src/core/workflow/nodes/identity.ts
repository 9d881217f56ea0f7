import { completed, type NodeType } from '../node-type.js'

export const identityNode: NodeType = {
  typeId: 'core.identity',
  start: ({ inputs }) => completed('payload' in inputs ? { payload: inputs.payload ?? null } : {}),
}
