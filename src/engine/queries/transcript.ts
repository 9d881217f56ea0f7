import { isObject, type JsonObject } from '../../core/json.js'
import { maskWithin } from '../../core/run/redaction.js'
import { isResultSensitive } from '../../core/verification/attempt.js'
import { JUDGE_WORKFLOW } from '../../core/workflow/nodes/judge.js'
import { VERIFIER_WORKFLOW } from '../../core/workflow/nodes/verify.js'
import type { InspectedRun } from '../api.js'
import type { StoredEvent } from '../ports/event-log.js'
import { type SealedDeps, sealedWords } from './sealed-words.js'
import { partOf, type TranscriptPart } from './transcript-parts.js'
import { sensitiveIn } from './withheld.js'

/**
 * What agents of a run were told, what they said, and what their tools returned, in the order of its log. Words that are
 * sealed are opened here, for a reader who is entitled (docs/contract/readers.md):
 *
 *  V1  Only of runs of the reader's tenant.
 *  V2  Secrets of the host are taken out again, with those that it has learned since. What a workflow declares `sensitive`
 *      stays masked, and so is all of a text that carries it.
 *  V3  What stands before a gate, or was told by one, is shown only to those who may read that as well.
 *  V4  What is no longer kept says so; it never looks like something that was not said.
 */
export type TranscriptEntry = {
  readonly sequence: number
  readonly at: number
  readonly nodeId: string
  readonly told: JsonObject
}

export type TranscriptRange = {
  /** Sequence of the first event that is looked at. */
  readonly from: number
  readonly limit: number
  readonly nodeId?: string
  /** The reader may read what is before gates. */
  readonly seesGated: boolean
}

export type TranscriptPage =
  | { readonly is: 'page'; readonly said: readonly TranscriptEntry[]; readonly next: number | null }
  /** All of the run is for those alone who may read what is before gates. */
  | { readonly is: 'closed' }
  | { readonly is: 'no-such-node'; readonly nodes: readonly string[] }

export type Transcripts = {
  /** Undefined when the tenant has no such run. */
  read(tenant: string, runId: string, range: TranscriptRange): Promise<TranscriptPage | undefined>
}

type TranscriptDeps = SealedDeps & { readonly redact: (value: JsonObject) => JsonObject }

/** Events that are looked through at once. */
const PAGE = 256

export const createTranscripts = (deps: TranscriptDeps): Transcripts => ({
  async read(tenant, runId, range) {
    const view = await deps.engine.inspect(tenant, runId)
    if (view === undefined) return undefined
    const { nodeId } = range
    const nodes = view.plan.nodes.map(({ node }) => node.id)
    if (nodeId !== undefined && !nodes.includes(nodeId)) return { is: 'no-such-node', nodes }
    if (!range.seesGated && isGates(view)) return { is: 'closed' }
    return { is: 'page', ...(await pageOf(deps, view, range)) }
  },
})

/** A run of a judge, or one that was given what a gate has found: its prompts tell what is before the gate. */
const isGates = (view: InspectedRun): boolean =>
  isJudging(view) || (view.state.phase !== 'absent' && view.state.started.withheld !== undefined)

/** The host's own workflows declare nothing, and what they are given has been masked before. */
const isJudging = ({ plan: { definition } }: InspectedRun): boolean =>
  definition.id === VERIFIER_WORKFLOW || definition.id === JUDGE_WORKFLOW

async function pageOf(deps: TranscriptDeps, view: InspectedRun, { from, limit, nodeId, seesGated }: TranscriptRange) {
  const { secrets } = isJudging(view) ? { secrets: undefined } : await sensitiveIn(deps.engine, view)
  const words = await sealedWords(deps, view)
  const closed = closingOf(view, seesGated)
  const show = async (part: TranscriptPart, event: StoredEvent): Promise<JsonObject> => {
    const why = part.open && closed(event, part)
    if (why !== undefined) return { ...part.told, missing: why }
    const told = deps.redact({ ...part.told, ...(await part.open?.(words)) })
    const masked = maskWithin(told, secrets)
    return isObject(masked) ? masked : { ...part.told, missing: 'sensitive' }
  }
  const said: TranscriptEntry[] = []
  for (let at = 0; ; at += PAGE) {
    const events = (await deps.engine.readEvents(view.tenant, view.runId, at, PAGE)) ?? []
    for (const event of events) {
      const part = partOf(event, words.note(event))
      const { sequence } = event
      if (part === undefined || sequence < from || (nodeId !== undefined && event.nodeId !== nodeId)) continue
      // One more than asked for tells whether there is more.
      if (said.length >= limit) return { said, next: sequence }
      said.push({ sequence, at: event.at, nodeId: event.nodeId ?? '', told: await show(part, event) })
    }
    if (events.length < PAGE) return { said, next: null }
  }
}

/** Why the words of an event are not for this reader; undefined where they are. */
function closingOf(
  view: InspectedRun,
  seesGated: boolean,
): (event: StoredEvent, part: TranscriptPart) => 'gated' | 'sensitive' | undefined {
  const { plan, state } = view
  if (state.phase === 'absent' || isJudging(view)) return () => undefined
  const gates = seesGated ? [] : (state.gated?.gates ?? [])
  const gated = new Set(
    gates.flatMap(({ gate: { position } }) => (position.placement === 'workflow_exit' ? [] : [position.phase_id])),
  )
  // Nobody can tell where in its words a result is that is declared sensitive.
  const sensitive = new Set(plan.nodes.flatMap(({ node }) => (isResultSensitive(state, node) ? [node.id] : [])))
  return ({ nodeId }, { told }) => {
    if (sensitive.has(nodeId ?? '') && told.is !== 'prompt') return 'sensitive'
    return gated.has(nodeId ?? '') ? 'gated' : undefined
  }
}
