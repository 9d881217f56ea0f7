import { askingProblems, WAITING } from '../../interrupt/asking-schema.js'
import { INTERRUPT_KINDS, type Interrupt, type InterruptKind } from '../../interrupt/interrupt.js'
import { isObject, type JsonObject } from '../../json.js'
import { failure } from '../../problem.js'
import { AnyObject, Closed, May, OneOf } from '../../schema/kinds.js'
import { completed, failedStep, type NodeContext, type NodeStep, type NodeType } from '../node-type.js'

const dataOf = ({ config, inputs }: Pick<NodeContext, 'config' | 'inputs'>): JsonObject => ({
  ...(isObject(config.data) ? config.data : {}),
  ...inputs,
})

export const interruptNode = {
  typeId: 'core.interrupt',
  about: 'Waits for an answer of any kind, its output `resumeValue`. Input ports add to the data that is shown.',
  config: Closed({
    kind: OneOf(INTERRUPT_KINDS, { description: 'What is asked for' }),
    data: May(AnyObject({ description: 'What is shown to whoever answers; what it needs depends on the kind' })),
    ...WAITING,
  }),
  // What ports bring is looked at when it has come.
  check: ({ config, inputs }) =>
    Object.keys(inputs).length > 0
      ? []
      : askingProblems(config.kind as InterruptKind, isObject(config.data) ? config.data : {}, 'config.data'),
  start: ctx => {
    const { kind, resumeSchema, timeoutMs } = ctx.config
    const data = dataOf(ctx)
    const problems = askingProblems(kind as InterruptKind, data, 'data')
    if (problems.length > 0) return failedStep(failure('invalid_input', problems.join('; '), { retryable: false }))
    const interrupt: Interrupt = {
      kind: kind as InterruptKind,
      data,
      ...(isObject(resumeSchema) ? { resumeSchema } : {}),
      ...(typeof timeoutMs === 'number' ? { timeoutMs } : {}),
    }
    return { kind: 'asking', interrupt }
  },
  settle: (_ctx, _wait, outcome) => {
    if (outcome.kind !== 'resolved') throw new Error(`interrupt settled by ${outcome.kind}`)
    const { kind, value, timedOut, by } = outcome.resolution
    const action = isObject(value) ? value.action : undefined
    const approved = kind === 'approval' ? action === 'accept' || action === 'edit-accept' : action !== 'reject'
    if (approved || (kind !== 'approval' && kind !== 'low-confidence')) return completed({ resumeValue: value })
    return notApproved(timedOut, by, action === 'refine' ? 'refine' : 'reject')
  },
} as const satisfies NodeType

export const notApproved = (timedOut: boolean, by: string, action: 'reject' | 'refine' = 'reject'): NodeStep => {
  if (timedOut) return failedStep(failure('interrupt_timeout', 'nobody approved in time', { retryable: false }))
  const what = action === 'refine' ? 'sent back' : 'rejected'
  return failedStep(failure('interrupt_rejected', `${what} by ${by}`, { retryable: false, details: { action } }))
}
