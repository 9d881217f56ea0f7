import type { Fields, LoggedEvent, RunLog } from '../checked.js'
import { fields, get, isFields, number, text } from '../json.js'

/** Something a run has asked someone outside, until it is answered or its node is done with. */
export type Question = {
  readonly id: string | undefined
  readonly kind: string | undefined
  readonly key: string | undefined
  readonly request: LoggedEvent
  /** What was asked, unmasked where the log has that. */
  readonly data: Fields
  readonly votes: readonly LoggedEvent[]
  /** When it is too late to answer; undefined when there is no limit. */
  readonly dueAt: number | undefined
}

/** `open` is the question its node waits with, as it was just before `event`. */
export type QuestionStep = { readonly event: LoggedEvent; readonly open: Question | undefined }

/** Tells who asks what, event by event, and returns what is open at the end, by node. */
export function walkQuestions(
  run: RunLog,
  visit: (telling: QuestionStep) => void = () => undefined,
): Map<string, Question> {
  const open = new Map<string, Question>()
  let before: LoggedEvent | undefined
  for (const event of run.events) {
    const node = event.node ?? ''
    const question = open.get(node)
    visit({ event, open: question })
    if (event.type === 'interrupt.requested') open.set(node, askedBy(run, event))
    else if (event.type === 'assay.run.forked') delay(open, event.at - (before?.at ?? event.at))
    else if (question !== undefined && event.type === 'assay.interrupt.voted')
      open.set(node, { ...question, votes: [...question.votes, event] })
    else if (question !== undefined && closes(question, event)) open.delete(node)
    before = event
  }
  return open
}

const askedBy = (run: RunLog, event: LoggedEvent): Question => ({
  id: text(event.payload.interruptId),
  kind: text(event.payload.kind),
  key: text(event.payload.key),
  request: event,
  data: fields(behindMask(event, 'data')),
  votes: [],
  dueAt: dueAt(run, event),
})

/** A field of the payload, or the value kept beside it when the payload masks it. */
export const behindMask = ({ raw, payload }: LoggedEvent, field: string): unknown =>
  get(isFields(raw.secret) && Object.hasOwn(raw.secret, field) ? raw.secret : payload, field)

/** A gate asks a person what becomes of a result. */
export const isGateQuestion = (request: LoggedEvent): boolean =>
  get(behindMask(request, 'data'), 'artifactType') === 'verification' &&
  get(behindMask(request, 'data'), 'gateId') !== undefined

/** A run asks whether it may spend more. */
export const isBudgetQuestion = (request: LoggedEvent): boolean =>
  get(behindMask(request, 'data'), 'artifactType') === 'budget' &&
  get(behindMask(request, 'data'), 'dimension') !== undefined

/** By the question's own limit or the node's, whichever is shorter. */
function dueAt(run: RunLog, request: LoggedEvent): number | undefined {
  const { payload, node, at } = request
  const ofNode = isBudgetQuestion(request) ? undefined : run.graph?.nodes.get(node ?? '')?.timeoutMs
  const limits = [number(payload.timeoutMs) ?? 0, ofNode ?? 0]
  const limit = Math.min(...limits.map(ms => (ms > 0 ? ms : Number.POSITIVE_INFINITY)))
  return Number.isFinite(limit) ? at + limit : undefined
}

/** Between the event it was cut at and its first own one, time stood still for a branch. */
function delay(open: Map<string, Question>, away: number): void {
  for (const [node, question] of open) {
    if (question.dueAt !== undefined) open.set(node, { ...question, dueAt: question.dueAt + away })
  }
}

const AFTERLIFE: readonly string[] = [
  'node.started',
  'node.completed',
  'node.failed',
  'node.retried',
  'node.skipped',
  'node.cancelled',
]

const closes = ({ id }: Question, { type, payload }: LoggedEvent): boolean =>
  type === 'interrupt.resolved' ? payload.interruptId === id : AFTERLIFE.includes(type)
