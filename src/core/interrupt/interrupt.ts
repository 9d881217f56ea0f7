import { canonicalJson, isObject, type Json, type JsonObject, own, sameJson } from '../json.js'
import { type Refusal, refuse } from '../problem.js'

/**
 * Asking someone outside and judging the answer (contract core §7). Pure: who answers, and whether the value fits the
 * author's schema, is settled before; what the answer means is settled here.
 */
export const INTERRUPT_KINDS = ['approval', 'clarification', 'external-event', 'custom', 'low-confidence'] as const
export type InterruptKind = (typeof INTERRUPT_KINDS)[number]

export const APPROVAL_ACTIONS = ['accept', 'reject', 'refine', 'edit-accept', 'ask'] as const
export type ApprovalAction = (typeof APPROVAL_ACTIONS)[number]

export type Interrupt = {
  readonly kind: InterruptKind
  readonly data: JsonObject
  /** Fields of the data that are for whoever is asked, and not for every reader of the log. */
  readonly withheld?: readonly string[]
  /** Fields of the data that are for nobody: what they hold is declared sensitive. */
  readonly masked?: readonly string[]
  readonly resumeSchema?: JsonObject
  /** 0 or absent: no limit. */
  readonly timeoutMs?: number
}

export type ApprovalVote = { readonly voter: string; readonly action: string }

/** An answer that closes the interrupt. */
export type Resolution = {
  readonly kind: InterruptKind
  readonly data: JsonObject
  readonly value: Json
  readonly by: string
  readonly timedOut: boolean
}

export type AnswerJudgement =
  | { readonly is: 'refused'; readonly refusal: Refusal }
  /** Counted, or heard before: the interrupt stays open. */
  | { readonly is: 'open'; readonly vote?: ApprovalVote; readonly question?: Json }
  | { readonly is: 'closed'; readonly value: Json; readonly by: string; readonly vote?: ApprovalVote }

export type Answering = { readonly value: Json; readonly by: string; readonly voter: string; readonly at: string }

/**
 * What an answer says, apart from what it says about itself: on sight of what it was given, and for whom. The latter is
 * the credential's to say; whoever may speak for others was heard before.
 */
export function bareAnswer(kind: InterruptKind, value: Json): { said: Json; claimedHash?: string } {
  // Events and values of others are theirs to name fields in.
  if (kind === 'external-event' || kind === 'custom' || !isObject(value)) return { said: value }
  const { shownHash, voter: _, ...said } = value
  return shownHash === undefined ? { said } : { said, claimedHash: String(shownHash) }
}

/** The author's schemas an answer must fit, with the part of the answer each is for. */
export function schemasFor({ kind, data, resumeSchema }: Interrupt, value: Json): [JsonObject, Json, string][] {
  const checks: [JsonObject, Json, string][] = resumeSchema ? [[resumeSchema, value, 'resumeValue']] : []
  if (kind !== 'clarification' || !Array.isArray(data.questions)) return checks
  const answers = answersOf(value) ?? {}
  for (const question of data.questions as readonly JsonObject[]) {
    const id = String(question.id)
    const answer = own(answers, id)
    if (isObject(question.schema) && answer !== undefined)
      checks.push([question.schema, answer, `resumeValue.answers["${id}"]`])
  }
  return checks
}

/** What an answer means for what was asked, given the votes so far. */
export function judgeAnswer(
  { kind, data }: Interrupt,
  votes: readonly ApprovalVote[],
  answer: Answering,
): AnswerJudgement {
  switch (kind) {
    case 'approval':
      return judgeApproval(data, votes, answer)
    case 'clarification':
      return judgeAnswers(data, answer)
    case 'external-event':
      return judgeEvent(data, answer)
    case 'low-confidence':
    case 'custom':
      return { is: 'closed', value: answer.value, by: answer.by }
  }
}

function judgeApproval(
  data: JsonObject,
  votes: readonly ApprovalVote[],
  { value, by, voter, at }: Answering,
): AnswerJudgement {
  const approvers = data.approversList
  if (Array.isArray(approvers) && !approvers.includes(voter))
    return refused('forbidden', `"${voter}" is not among the approvers of this interrupt`, { field: 'approversList' })
  const said = normalised(value)
  const allowed = data.actions as readonly Json[]
  const action = said?.action
  if (said === undefined || !allowed.includes(action ?? null)) {
    const message = `resumeValue.action must be one of ${allowed.join(', ')}, not ${JSON.stringify(action ?? null)}`
    return refused('validation_error', message, { field: 'resumeValue.action' })
  }
  // Whose credential carries the answer counts as well: the log names that one.
  const barred = action === 'accept' ? barredAmong(data, [voter, by]) : undefined
  if (barred !== undefined) {
    const message = `"${barred}" started this run, and its gate wants a second person to let a result pass`
    return refused('forbidden', message, { field: 'mayNotAccept' })
  }
  const lacking = lackingField(said)
  if (lacking) return lacking
  if (action === 'ask') return { is: 'open', ...(said.question === undefined ? {} : { question: said.question }) }
  const required = typeof data.requiredApprovals === 'number' ? data.requiredApprovals : 1
  if (required === 1) return { is: 'closed', value: signed(said, by, at, data), by }
  if (action === 'edit-accept')
    return refused('validation_error', `resumeValue.action "edit-accept" cannot be one of ${required} votes`, {
      field: 'resumeValue.action',
    })
  // Sending work back grants nothing, so it needs no quorum.
  if (action === 'refine') return { is: 'closed', value: signed(said, by, at), by }
  if (votes.some(vote => vote.voter === voter)) return { is: 'open' }
  const vote: ApprovalVote = { voter, action: String(action) }
  const cast = (wanted: string) => [...votes, vote].filter(other => other.action === wanted).length
  const closes =
    action === 'accept'
      ? cast('accept') >= required
      : isRejected(data, cast('reject'), required) || isOutOfReach(approvers, cast('reject'), required)
  if (!closes) return { is: 'open', vote }
  const decider = `quorum:${cast(String(action))}-of-${required}`
  return { is: 'closed', value: signed(said, decider, at), by: decider, vote }
}

/**
 * Whether a link that one person's credential made for another may answer: who may not let a result pass may not hand out
 * the acceptance of somebody else either, whom nobody but the maker of the link has named.
 */
export const mayHandOut = ({ shown }: { readonly shown: JsonObject }, maker: string, subject: string): boolean =>
  subject === maker || barredAmong(shown, [maker]) === undefined

const barredAmong = ({ mayNotAccept }: JsonObject, names: readonly string[]): string | undefined =>
  Array.isArray(mayNotAccept) ? names.find(name => mayNotAccept.includes(name)) : undefined

const isRejected = (data: JsonObject, rejects: number, required: number): boolean =>
  data.rejectionPolicy === 'majority' ? rejects > Math.floor(required / 2) : true

/** So many have said no that those who are left are too few. */
const isOutOfReach = (approvers: Json | undefined, rejects: number, required: number): boolean =>
  Array.isArray(approvers) && approvers.length - rejects < required

/** Who decided comes from the credential, and only what belongs to the action is kept: nothing else was approved. */
function signed(said: JsonObject, by: string, at: string, { artifactType }: JsonObject = {}): Json {
  const { action, feedback, refineFeedback, editedArtifactData, budgetDelta } = said
  const raises = action === 'accept' && artifactType === 'budget' && budgetDelta !== undefined
  return {
    action: action!,
    ...(feedback === undefined ? {} : { feedback }),
    ...(action === 'refine' ? { refineFeedback: refineFeedback! } : {}),
    ...(action === 'edit-accept' ? { editedArtifactData: editedArtifactData! } : {}),
    ...(raises ? { budgetDelta } : {}),
    decidedBy: by,
    decidedAt: at,
  }
}

/** Whether an answer lets pass what is asked about. */
export const accepts = (value: Json): boolean => normalised(value)?.action === 'accept'

/** Old clients say `decision`; they mean an action. */
function normalised(value: Json): JsonObject | undefined {
  if (!isObject(value)) return undefined
  const { decision, ...rest } = value
  if (decision === undefined) return value
  // Who says two things says nothing.
  if (rest.action !== undefined) return undefined
  if (decision === 'approved') return { ...rest, action: 'accept' }
  if (decision !== 'rejected') return value
  if (rest.feedback === undefined) return { ...rest, action: 'reject' }
  const { feedback, ...others } = rest
  return { ...others, action: 'refine', refineFeedback: { scope: 'whole', text: feedback } }
}

const SCOPES: readonly Json[] = ['whole', 'section', 'items']

function lackingField({ action, refineFeedback, editedArtifactData }: JsonObject): AnswerJudgement | undefined {
  if (action === 'refine' && !(isObject(refineFeedback) && SCOPES.includes(refineFeedback.scope ?? null)))
    return refused('validation_error', `refine needs resumeValue.refineFeedback with a scope of ${SCOPES.join(', ')}`, {
      field: 'resumeValue.refineFeedback',
    })
  if (action === 'edit-accept' && editedArtifactData === undefined)
    return refused('validation_error', 'edit-accept needs resumeValue.editedArtifactData', {
      field: 'resumeValue.editedArtifactData',
    })
  return undefined
}

/** `{answers: {id: answer}}` or `{answers: [{id, answer}]}`, as an object by question id. */
function answersOf(value: Json): JsonObject | undefined {
  const answers = isObject(value) ? value.answers : undefined
  if (isObject(answers)) return answers
  if (!Array.isArray(answers)) return undefined
  const pairs = answers.map((item: Json) => (isObject(item) ? [item.id, item.answer] : []))
  return pairs.every(([id, answer]) => typeof id === 'string' && answer !== undefined)
    ? Object.fromEntries(pairs as [string, Json][])
    : undefined
}

function judgeAnswers(data: JsonObject, { value, by }: Answering): AnswerJudgement {
  const answers = answersOf(value)
  const field = 'resumeValue.answers'
  if (answers === undefined)
    return refused('validation_error', `${field} must be an object by question id, or a list of {id, answer}`, {
      field,
    })
  const ids = (data.questions as readonly JsonObject[]).map(question => String(question.id))
  const missing = ids.filter(id => own(answers, id) === undefined)
  const unknown = Object.keys(answers).filter(id => !ids.includes(id))
  if (missing.length > 0) return refused('validation_error', `${field} lacks "${missing.join('", "')}"`, { field })
  if (unknown.length > 0)
    return refused('validation_error', `${field} has "${unknown.join('", "')}", which was not asked`, { field })
  return { is: 'closed', value: { answers }, by }
}

function judgeEvent(data: JsonObject, { value, by }: Answering): AnswerJudgement {
  const expected = isObject(data.correlation) ? data.correlation : {}
  const off = Object.keys(expected).filter(key => !isObject(value) || !sameJson(own(value, key), expected[key]))
  if (off.length === 0) return { is: 'closed', value, by }
  const message = `the event does not match the correlation in "${off.join('", "')}"; the run still waits for its own event`
  return refused('correlation_mismatch', message, { fields: off })
}

const refused = (...args: Parameters<typeof refuse>): AnswerJudgement => ({ is: 'refused', refusal: refuse(...args) })

/** The text whose hash names what was shown. */
export const shownText = (kind: InterruptKind, data: JsonObject): string => canonicalJson([kind, data])
