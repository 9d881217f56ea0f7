import { completed, type NodeType } from '../node-type.js'

/** Needs a capability no host has, so that the refusal can be observed (contract core §9.1). */
export const requiresMissingNode: NodeType = {
  typeId: 'conformance.requiresMissing',
  requires: ['conformance.never-provided'],
  start: () => completed(),
}
