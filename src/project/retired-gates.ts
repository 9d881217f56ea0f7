import { Type } from 'typebox'
import { ListOf } from '../core/schema/kinds.js'

/** Ids of gates, as their documents spell them. */
export const RetiredGates = ListOf(Type.String({ minLength: 1, maxLength: 256 }), 0, 1_000, {
  description:
    'gates that the project had and is meant to have no more; a gate whose file is gone keeps its workflow from starting (`gate_removed`) until it is named here',
  default: [],
  'x-must-be': 'a list of at most 1000 ids of gates',
})
