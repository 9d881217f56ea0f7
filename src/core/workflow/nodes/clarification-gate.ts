import { Questions, WAITING } from '../../interrupt/asking-schema.js'
import { isObject } from '../../json.js'
import { Closed, May } from '../../schema/kinds.js'
import { SomeText } from '../fields.js'
import { completed, type NodeType } from '../node-type.js'

export const clarificationGateNode = {
  typeId: 'core.clarificationGate',
  about: 'Puts questions to a person; the answers, by question id, are its output `answers`.',
  config: Closed({
    questions: Questions,
    contextType: May(SomeText({ description: 'What the questions are about, for whoever shows them' })),
    timeoutMs: WAITING.timeoutMs,
  }),
  start: ({ config }) => ({
    kind: 'asking',
    interrupt: {
      kind: 'clarification',
      data: {
        questions: config.questions!,
        ...(config.contextType === undefined ? {} : { contextType: config.contextType }),
      },
      ...(typeof config.timeoutMs === 'number' ? { timeoutMs: config.timeoutMs } : {}),
    },
  }),
  settle: (_ctx, _wait, outcome) => {
    if (outcome.kind !== 'resolved') throw new Error(`clarification settled by ${outcome.kind}`)
    const { value } = outcome.resolution
    return completed({ answers: isObject(value) ? (value.answers ?? {}) : {} })
  },
} as const satisfies NodeType
