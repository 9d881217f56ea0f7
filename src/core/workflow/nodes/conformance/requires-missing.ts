import { Closed } from '../../../schema/kinds.js'
import { completed, type NodeType } from '../../node-type.js'

/** Contract core §9.1. */
export const requiresMissingNode = {
  typeId: 'conformance.requiresMissing',
  about: 'Needs a capability that no host has, so that the refusal can be observed.',
  config: Closed({}),
  requires: ['conformance.never-provided'],
  start: () => completed(),
} as const satisfies NodeType
