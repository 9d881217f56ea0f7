import type { Composition, PromptResolution, PromptsTold } from '../../core/invocation/brief.js'
import type { EnvelopeKind, Fork } from '../../core/replay/events.js'
import type { TodayQuestion } from '../../core/replay/today.js'
import type { Recorded } from '../../core/run/events.js'
import type { Store } from '../ports/store.js'
import type { Today } from '../ports/today.js'
import { decode } from '../log/encode.js'
import { briefRequest } from './prepare-agent.js'
import { readTeam, type TeamDeps } from './team.js'
import { readTranscript } from './transcript.js'

/** Answers what a replay asks of today; `next` is the sequence of what it is about to tell. */
export type AnswerToday = (question: TodayQuestion, next: number) => Promise<PromptsTold | EnvelopeKind | undefined>

export type TodayDeps = TeamDeps & { readonly store: Store; readonly today: Today }

/** The part of a replay that is told already, as it is in its log. */
export type ToldPart = {
  readonly runId: string
  readonly tenant: string
  readonly fork: Fork
  readonly known: number
  /** Whether some of it was not as the source has it. */
  readonly diverged: boolean
}

const NEVER = new AbortController().signal

/** What is in the replay's own log stays as it was told there; beyond it, what lies on this host counts (D1). */
export async function answersOfToday(deps: TodayDeps, told: ToldPart): Promise<AnswerToday> {
  const own = await differing(deps.store, told)
  return async (question, next) => {
    if (next < told.known) return question.kind === 'prompts' ? own(question.effect.nodeId, next) : undefined
    return found(deps, told, question)
  }
}

async function found(deps: TodayDeps, { tenant, fork }: ToldPart, question: TodayQuestion) {
  const { store, today } = deps
  if (question.kind === 'envelope') {
    const { nodeId, call } = question
    return today.envelope({ tenant, nodeId, call })
  }
  const { plan, effect, brief } = question
  const { role, transcript: window } = effect.wait
  const transcript = window && (await readTranscript({ store }, fork.sourceRunId, window))
  const team = role === 'supervisor' ? await readTeam(deps, tenant, plan) : undefined
  return today.prompts(briefRequest(tenant, effect, { transcript, team }, NEVER), brief)
}

/** Prompts that were told otherwise than the source has them: by node, from a sequence on. */
async function differing(store: Store, { runId, fork, known, diverged }: ToldPart) {
  const rows = diverged && known > fork.fromSeq ? await store.readEvents(runId, fork.fromSeq, known - fork.fromSeq) : []
  const events = rows.map(row => decode(runId, row))
  return (nodeId: string, from: number): PromptsTold | undefined => {
    const after = events.filter(event => event.sequence >= from && event.nodeId === nodeId)
    const composed = after.find(isComposed)
    if (composed === undefined) return undefined
    const { nodeId: _, ...composition } = composed.payload
    const prompts = after.filter(isResolved).filter(({ sequence }) => sequence < composed.sequence)
    return { prompts: prompts.map(({ payload }) => resolutionOf(payload)), composed: composition as Composition }
  }
}

const isComposed = (event: Recorded): event is Extract<Recorded, { type: 'prompt.composed' }> =>
  event.type === 'prompt.composed'

const isResolved = (event: Recorded): event is Extract<Recorded, { type: 'agent.promptResolved' }> =>
  event.type === 'agent.promptResolved'

const resolutionOf = ({ kind, chain, resolved }: PromptResolution): PromptResolution => ({ kind, chain, resolved })
