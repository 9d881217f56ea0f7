import {
  INTERRUPT_KINDS,
  type Interrupt,
  type InterruptKind,
  interruptProblems,
  timeoutProblems,
} from '../../interrupt/interrupt.js'
import { isObject, type JsonObject } from '../../json.js'
import { failure } from '../../problem.js'
import { completed, failedStep, type NodeContext, type NodeStep, type NodeType } from '../node-type.js'

const dataOf = ({ config, inputs }: Pick<NodeContext, 'config' | 'inputs'>): JsonObject => ({
  ...(isObject(config.data) ? config.data : {}),
  ...inputs,
})

/** Waits for an answer of any kind; input ports add to the data that is shown. */
export const interruptNode: NodeType = {
  typeId: 'core.interrupt',
  check: ({ config, inputs }) => [
    ...(INTERRUPT_KINDS.some(kind => kind === config.kind)
      ? []
      : [`config.kind must be one of ${INTERRUPT_KINDS.join(', ')}, not ${JSON.stringify(config.kind ?? null)}`]),
    ...(Object.keys(inputs).length > 0 ? [] : interruptProblems(config.kind, config.data ?? {}, 'config.data')),
    ...timeoutProblems(config),
  ],
  start: ctx => {
    const { kind, resumeSchema, timeoutMs } = ctx.config
    const data = dataOf(ctx)
    const problems = interruptProblems(kind, data, 'data')
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
}

export const notApproved = (timedOut: boolean, by: string, action: 'reject' | 'refine' = 'reject'): NodeStep => {
  if (timedOut) return failedStep(failure('interrupt_timeout', 'nobody approved in time', { retryable: false }))
  const what = action === 'refine' ? 'sent back' : 'rejected'
  return failedStep(failure('interrupt_rejected', `${what} by ${by}`, { retryable: false, details: { action } }))
}
