import { questionProblems, timeoutProblems } from '../../interrupt/interrupt.js'
import { isObject } from '../../json.js'
import { completed, type NodeType } from '../node-type.js'

/** Puts questions to a person; the answers, by question id, are its output. */
export const clarificationGateNode: NodeType = {
  typeId: 'core.clarificationGate',
  check: ({ config }) => [...questionProblems(config.questions, 'config.questions'), ...timeoutProblems(config)],
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
}
