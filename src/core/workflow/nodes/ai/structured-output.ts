import { isObject } from '../../../json.js'
import { Closed, May } from '../../../schema/kinds.js'
import { PartField, SchemaField } from '../../fields.js'
import { CALL_FIELDS, callProblems } from '../../model-fields.js'
import { completed, type NodeType } from '../../node-type.js'
import { promptCall } from '../../prompt-call.js'

/** An answer that breaks the schema is asked for again, and never delivered (R-ENV-2). */
export const structuredOutputNode = {
  typeId: 'core.ai.structuredOutput',
  about:
    'Asks a model for a value that fits a JSON Schema, and gives it as its output `result`. What it is asked is found as by `core.ai.callPrompt`.',
  invokes: true,
  config: Closed({
    ...CALL_FIELDS,
    outputSchema: SchemaField({ description: 'What the answer must fit' }),
    resultVariable: May(
      PartField('the name of the variable that takes the result', {
        description: 'The variable that takes the result',
      }),
    ),
  }),
  check: ({ config }) => callProblems(config),
  start: ctx => {
    const { outputSchema } = ctx.config
    const returnSchema = isObject(outputSchema) ? outputSchema : {}
    return { kind: 'waiting', wait: promptCall(ctx, { returnSchema, needs: ['structured-output'] }) }
  },
  settle: ({ config: { resultVariable: name } }, _wait, outcome) => {
    if (outcome.kind !== 'agent') throw new Error(`prompt settled by ${outcome.kind}`)
    const { result } = outcome
    return completed({ result }, typeof name === 'string' ? [{ kind: 'variable', name, value: result }] : [])
  },
} as const satisfies NodeType
