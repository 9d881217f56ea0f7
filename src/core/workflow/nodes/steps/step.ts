import { isObject } from '../../../json.js'
import { AnyObject, Closed, Matching, May, OneOf } from '../../../schema/kinds.js'
import { completed, type NodeType } from '../../node-type.js'
import { ofProjectOnly } from '../../own-effects.js'

const REPEATS = ['safe', 'keyed', 'never'] as const

export const stepNode = {
  typeId: 'core.step',
  about:
    'Runs a step of the project, `steps/<name>.ts` or `.mjs`, in a process of its own; the inputs of the node are its input, and what it gives back is the output `result`. A run keeps to the schemas and `repeat` that the step had when the run was started: where they have changed since, the node fails with `step_changed`. Only workflows in files of the project may have it.',
  config: Closed({
    step: Matching(/^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$/, 'the name of a file in steps/, without its ending', {
      description: 'Which step',
    }),
    contract: May(
      Closed(
        {
          input: AnyObject({ description: 'JSON Schema of what it is given' }),
          output: AnyObject({ description: 'JSON Schema of what it gives back' }),
          repeat: OneOf(REPEATS, { description: 'Whether it may run again' }),
        },
        { description: 'What the step says of itself; filled in from its file, never written by hand' },
      ),
    ),
  }),
  journals: true,
  acts: true,
  check: (_node, permit) => ofProjectOnly(permit, 'core.step'),
  start: ({ config: { step, contract }, inputs, ordinal }) => ({
    kind: 'waiting',
    wait: {
      kind: 'effect',
      provider: 'core.step',
      input: { step: String(step), contract: contract ?? null, input: inputs },
      ordinal,
      repeat: REPEATS.find(one => isObject(contract) && one === contract.repeat) ?? 'never',
    },
  }),
  settle: (_ctx, _wait, outcome) => completed({ result: outcome.kind === 'answer' ? outcome.output : null }),
} as const satisfies NodeType
