import { completed, type NodeType } from '../node-type.js'

/** Where a workflow begins; its outputs are the run's inputs. */
export const startNode: NodeType = { typeId: 'core.start', start: ({ runInputs }) => completed(runInputs) }
