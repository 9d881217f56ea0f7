import { Closed, May } from '../../../schema/kinds.js'
import { PartField } from '../../fields.js'
import { CALL_FIELDS, callProblems } from '../../model-fields.js'
import { completed, type NodeType } from '../../node-type.js'
import { promptCall } from '../../prompt-call.js'

export const callPromptNode = {
  typeId: 'core.ai.callPrompt',
  about:
    'Asks a model one thing and gives its words as its output `text`. What it is asked: `prompt` or `userPromptRef`, else its input `prompt`, else its input `messages`, else all its inputs.',
  invokes: true,
  config: Closed({
    ...CALL_FIELDS,
    resultVariable: May(
      PartField('the name of the variable that takes the text', { description: 'The variable that takes the text' }),
    ),
  }),
  check: ({ config }) => callProblems(config),
  start: ctx => ({ kind: 'waiting', wait: promptCall(ctx) }),
  settle: ({ config: { resultVariable: name } }, _wait, outcome) => {
    if (outcome.kind !== 'agent') throw new Error(`prompt settled by ${outcome.kind}`)
    const { result } = outcome
    return completed({ text: result }, typeof name === 'string' ? [{ kind: 'variable', name, value: result }] : [])
  },
} as const satisfies NodeType
