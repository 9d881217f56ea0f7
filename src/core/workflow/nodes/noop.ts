import { completed, type NodeType } from '../node-type.js'

export const noopNode: NodeType = { typeId: 'core.noop', start: () => completed() }
