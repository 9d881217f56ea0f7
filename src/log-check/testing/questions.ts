import { type Choose, chance, pick } from './choice.js'

/** Node types that ask someone outside. */
export const ASKING = ['core.approvalGate', 'core.clarificationGate', 'core.interrupt']

const VOTERS = ['ann', 'bob', 'cy', 'dan']

/** What a simulated run asks; a second reading of core §7 that owes nothing to the rules. */
export type Asked = {
  readonly interruptId: string
  readonly kind: string
  readonly data: Record<string, unknown>
  readonly votes: readonly { readonly voter: string; readonly action: string }[]
  dueAt: number | undefined
}

export type Answer =
  | { readonly is: 'question' }
  | { readonly is: 'vote'; readonly voter: string; readonly action: string; readonly closes?: Closing }
  | ({ readonly is: 'answer' } & Closing)

export type Closing = { readonly value: Record<string, unknown>; readonly by: string }

export type Question = {
  readonly kind: string
  readonly data: Record<string, unknown>
  /** What is told of it when its node is suspended. */
  readonly suspended?: object
}

export function questionFor(typeId: string, choose: Choose): Question {
  if (typeId === 'core.approvalGate') return { kind: 'approval', data: approval(choose) }
  if (typeId === 'core.clarificationGate') return { kind: 'clarification', data: { questions: QUESTIONS } }
  return pick(choose, [
    { kind: 'custom', data: { customKind: 'acme' } },
    { kind: 'external-event', data: { eventType: 'paid', correlation: { order: 7 } } },
    { kind: 'low-confidence', data: { agentId: 'a', threshold: 0.8, observed: 0.4 } },
  ])
}

const QUESTIONS = [
  { id: 'why', question: 'Why?' },
  { id: 'how', question: 'How?' },
]

function approval(choose: Choose): Record<string, unknown> {
  const required = 1 + choose(3)
  return {
    artifactId: 'doc-1',
    artifactType: 'text',
    title: 'Publish?',
    actions: pick(choose, [
      ['accept', 'reject'],
      ['accept', 'reject', 'refine', 'edit-accept', 'ask'],
    ]),
    ...(required > 1 ? { requiredApprovals: required } : {}),
    ...(chance(choose, 2) ? { rejectionPolicy: 'majority' } : {}),
    ...(chance(choose, 2) ? { approversList: VOTERS } : {}),
  }
}

/** What readers who know no interrupts are told. */
export function olderRequest({ kind, data, interruptId }: Asked, nodeId: string): [string, object] | undefined {
  if (kind === 'clarification') return ['clarification.requested', { nodeId, questions: data.questions, interruptId }]
  if (kind !== 'approval') return undefined
  const { artifactId, artifactType, title, approversList, requiredApprovals } = data
  const actions = (data.actions as string[]).map(action => (action === 'edit-accept' ? 'edit' : action))
  return [
    'approval.requested',
    {
      nodeId,
      interruptId,
      artifactId,
      artifactType,
      title,
      actions,
      ...(approversList === undefined ? {} : { approversList }),
      ...(requiredApprovals === undefined ? {} : { requiredApprovals }),
    },
  ]
}

export function answerTo({ kind, data, votes }: Asked, choose: Choose, decidedAt: string): Answer {
  if (kind === 'clarification') return { is: 'answer', value: { answers: answersTo(data, choose) }, by: 'ann' }
  if (data.edits !== undefined || kind === 'low-confidence') return verdictOn(data, choose, decidedAt)
  if (kind === 'external-event') return { is: 'answer', value: { order: 7, amount: choose(9) }, by: 'shop' }
  if (kind !== 'approval') return { is: 'answer', value: { ok: true }, by: 'ann' }
  const required = Number(data.requiredApprovals ?? 1)
  const offered = (data.actions as string[]).filter(action => required === 1 || action !== 'edit-accept')
  const action = pick(choose, offered)
  if (action === 'ask') return { is: 'question' }
  const voter = VOTERS.find(name => !votes.some(vote => vote.voter === name)) ?? 'ann'
  if (required === 1 || action === 'refine')
    return { is: 'answer', value: decision(action, voter, decidedAt), by: voter }
  const cast = votes.filter(vote => vote.action === action).length + 1
  const enough = action === 'accept' ? required : data.rejectionPolicy === 'majority' ? Math.floor(required / 2) + 1 : 1
  const by = `quorum:${cast}-of-${required}`
  const closes = cast >= enough ? { closes: { value: decision(action, by, decidedAt), by } } : {}
  return { is: 'vote', voter, action, ...closes }
}

/** At times just the word that confirms. */
function answersTo({ questions }: Record<string, unknown>, choose: Choose): Record<string, string> {
  const word = pick(choose, ['so', 'confirm', 'confirm'])
  return Object.fromEntries((questions as { id: string }[]).map(({ id }) => [id, word]))
}

/** A person looks at what is shown, and may put something else in its place. */
function verdictOn({ edits }: Record<string, unknown>, choose: Choose, decidedAt: string): Answer {
  const action = pick(choose, ['accept', 'accept', 'reject', ...(edits === undefined ? [] : ['edit-accept'])])
  const edited = action === 'edit-accept' ? { editedArtifactData: pick(choose, edits as unknown[]) } : {}
  return { is: 'answer', value: { ...decision(action, 'ann', decidedAt), ...edited }, by: 'ann' }
}

const decision = (action: string, decidedBy: string, decidedAt: string): Record<string, unknown> => ({
  action,
  ...(action === 'refine' ? { refineFeedback: { scope: 'whole' } } : {}),
  ...(action === 'edit-accept' ? { editedArtifactData: 'better' } : {}),
  decidedBy,
  decidedAt,
})

const WAITING: { readonly [kind: string]: string } = {
  approval: 'waiting-approval',
  'low-confidence': 'waiting-approval',
  clarification: 'waiting-input',
  custom: 'waiting-input',
  'external-event': 'waiting-external',
}

export const waitingFor = ({ kind }: Asked): string => String(WAITING[kind])
