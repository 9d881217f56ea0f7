import { Closed } from '../../../schema/kinds.js'
import { completed, type NodeType } from '../../node-type.js'
import { promptCall } from '../../prompt-call.js'

/** Contract agents §26. */
export const capabilityInsufficientNode = {
  typeId: 'conformance.modelCapability.insufficient',
  about: 'Needs what no model has, so that the refusal can be observed.',
  invokes: true,
  config: Closed({}),
  start: ctx => ({ kind: 'waiting', wait: promptCall(ctx, { needs: ['nonexistent-capability-9b3f'] }) }),
  settle: () => completed(),
} as const satisfies NodeType
