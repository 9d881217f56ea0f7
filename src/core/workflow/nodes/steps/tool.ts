import { Closed, Text } from '../../../schema/kinds.js'
import { completed, type NodeType } from '../../node-type.js'

/** R-TOOL-6: nobody but the workflow asks for it, so the call is `core.system`'s. */
export const toolNode = {
  typeId: 'core.tool',
  about:
    'Calls a tool without an agent: the inputs of the node are its arguments, and its output `result` is what the tool says, as JSON where it is JSON. The call is told as one of `core.system`, and needs the scopes that the tool asks for.',
  config: Closed({
    tool: Text(256, { description: 'Which tool, by its id: `mcp:server.tool`, `local:name` or one of `assay:…`' }),
  }),
  journals: true,
  acts: true,
  start: ({ config, inputs, ordinal }) => ({
    kind: 'waiting',
    wait: {
      kind: 'effect',
      provider: 'core.tool',
      input: { tool: String(config.tool), args: inputs },
      ordinal,
      // Whether it may be called again, the tool says itself when it is called.
      repeat: 'keyed',
    },
  }),
  settle: (_ctx, _wait, outcome) => completed({ result: outcome.kind === 'answer' ? outcome.output : null }),
  hides: ({ tool }) => (String(tool).startsWith('mcp:') ? ['result'] : []),
} as const satisfies NodeType
