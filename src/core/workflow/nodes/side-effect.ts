import { completed, type NodeType } from '../node-type.js'

/** One outside effect under a stable identity; the conformance suite and the crash tests count what it does. */
export const sideEffectNode: NodeType = {
  typeId: 'core.conformance.side-effect',
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
}
