import { Flag, May, OneOf } from '../../../schema/kinds.js'
import { Open } from '../../fields.js'
import { completed, type NodeType } from '../../node-type.js'

/** One outside effect under a stable identity; the conformance suite and the crash tests count what it does. */
export const sideEffectNode = {
  typeId: 'core.conformance.side-effect',
  about:
    'One outside effect under a stable identity, for the conformance suite and for tests of crashes: what it is given is written to a journal, with whatever else its configuration has.',
  config: Open({
    repeat: May(OneOf(['keyed', 'never', 'safe'], { description: 'Whether it may be done again', default: 'keyed' })),
    crash: May(Flag({ description: 'The process ends in the middle of it' })),
    fail: May(Flag({ description: 'The effect fails' })),
    retryable: May(Flag({ description: 'Whether that failure may be tried again' })),
  }),
  requires: ['assay.conformance'],
  start: ({ config, inputs, ordinal }) => ({
    kind: 'waiting',
    wait: {
      kind: 'effect',
      provider: 'conformance.side-effect',
      input: { ...config, ...inputs },
      ordinal,
      repeat: config.repeat === 'never' || config.repeat === 'safe' ? config.repeat : 'keyed',
    },
  }),
  settle: (_ctx, _wait, outcome) => completed({ result: outcome.kind === 'answer' ? outcome.output : null }),
} as const satisfies NodeType
