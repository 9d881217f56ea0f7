import { isObject, type JsonObject } from '../../core/json.js'
import { type Refusal, refuse } from '../../core/problem.js'
import { changeProblem, IdlePlaces, type PlaceOfCut, withAgents } from '../../core/replay/change-limits.js'
import { type Changes, changedDefinition, changesIn, unchangeable } from '../../core/replay/changes.js'
import { Definitions } from '../../core/replay/definitions.js'
import type { Fork } from '../../core/replay/events.js'
import { type Cut, CutFinder, inherited, type Overlay, retold } from '../../core/replay/fork.js'
import type { Rules } from '../../core/run/decide.js'
import type { RunState } from '../../core/run/state.js'
import type { Plan } from '../../core/workflow/plan.js'
import type { RunOptions } from '../api.js'
import type { Agents } from '../ports/agents.js'
import type { RunRow } from '../ports/run-index.js'
import type { Store } from '../ports/store.js'
import { decode } from '../log/encode.js'
import type { Plans } from '../plans/plans.js'
import { type LogReader, logPages } from '../log/read-log.js'
import { keptState } from '../log/snapshot.js'

/** What of a run a branch goes on from. */
export type Past = {
  /** Of a run that is cut before its first event, that event is what is shared. */
  readonly cut: Cut
  /** The definition that the run went by there. */
  readonly digest: string | undefined
  readonly idle: IdlePlaces
  /** The cut goes between two decisions. */
  readonly atRest: boolean
}

/**
 * Page by page, in turns of its tenant; no more of it is kept than the decision that the cut may go through. Any definition
 * of the run's will do to fold it by (C1).
 */
export async function readPast(
  reader: LogReader & { readonly store: Store },
  rules: Rules,
  { tenant, length }: RunRow,
  { runId, fork }: { readonly runId: string; readonly fork: Fork },
): Promise<Past> {
  const { sourceRunId, fromSeq } = fork
  const kept = (await keptState(reader.store, sourceRunId, fromSeq)) ?? { phase: 'absent' }
  const from = kept.phase === 'absent' ? 0 : kept.next
  const end = Math.max(fromSeq, 1)
  const finder = new CutFinder(rules, inherited(kept, runId, fork), runId)
  const definitions = new Definitions(kept)
  const idle = new IdlePlaces()
  let [next, atRest] = [from, fromSeq === length]
  // The event after the cut says whether a decision ended there.
  for await (const page of logPages(reader, { runId: sourceRunId, tenant }, from, Math.min(end + 1, length))) {
    const read = page.map(row => decode(sourceRunId, row))
    const before = read.filter(({ sequence }) => sequence < end)
    for (const place of [finder, definitions, idle]) place.read(before)
    next += before.length
    atRest ||= read.some(({ sequence, input }) => sequence === fromSeq && input !== undefined)
  }
  if (next < end) throw new Error(`the log of run ${sourceRunId} ends before event ${end - 1}`)
  return { cut: finder.cut, digest: definitions.last, idle, atRest }
}

/** The definition that a run went by at a place in its log; only a branch has had more than one. */
export const planAt = (plans: Plans, { workflowDigest, fork }: RunRow, { digest }: Past): Promise<Plan> =>
  plans.pinned(fork === null ? workflowDigest : (digest ?? workflowDigest))

type ChangeDeps = {
  readonly plans: Plans
  readonly agents: Pick<Agents, 'knows'>
  readonly rules: (plan: Plan) => Rules
}

/** What the branch then goes by: its own definition, where that is another, and what its first event tells of it. */
export type Changed = { readonly plan: Plan; readonly overlay: Overlay }

type Place = { readonly plan: Plan; readonly tenant: string; readonly runId: string; readonly fromSeq: number }

/** A change is checked by itself, then against the place of the cut, then as a whole, as a workflow is (R-FORK-5). */
export async function changedBy(
  deps: ChangeDeps,
  { plan, tenant, runId, fromSeq }: Place,
  past: Past,
  set: JsonObject,
  options: RunOptions,
): Promise<Changed | Refusal> {
  const changes = changesIn(set, plan.definition)
  if ('code' in changes) return changes
  const rules = deps.rules(plan)
  const state = retold(rules, past.cut.before, runId, past.cut.shared)
  const problem = changeProblem(placeOf(plan, past, fromSeq, state), changes) ?? strangerIn(deps, changes)
  if (problem) return problem
  const changed = await definitionOf(deps.plans, tenant, plan, changes)
  if ('code' in changed) return changed
  const before = state.phase === 'absent' ? {} : (state.started.configurable ?? {})
  const ai = options.configurable?.ai ?? before.ai
  const hasAgents = Object.keys(changes.agents).length > 0
  const isOther = changed.digest !== plan.digest
  return {
    plan: changed,
    overlay: {
      ...options,
      ...(hasAgents && { configurable: { ...options.configurable, ai: withAgents(ai, changes.agents) } }),
      changed: changes.names,
      ...(isOther && { workflowDigest: changed.digest, atRest: past.atRest }),
    },
  }
}

/** From the very beginning nothing has been done yet; only its gates are known. */
function placeOf(plan: Plan, { cut, idle, atRest }: Past, fromSeq: number, state: RunState): PlaceOfCut {
  const gates = state.phase === 'absent' ? [] : (state.gated?.gates ?? [])
  if (fromSeq === 0) return { plan, gates, state: { phase: 'absent' }, idle, half: [] }
  return { plan, gates, state, idle, half: atRest ? [] : cut.shared }
}

/** An agent that a workflow describes itself is known to nobody else. */
const OF_WORKFLOW = /^host:orchestrator:/

function strangerIn({ agents }: ChangeDeps, changes: Changes): Refusal | undefined {
  const name = changes.names.find(name => {
    const agentId = /^agents\.(.+)\.[^.]+$/.exec(name)?.[1]
    return agentId !== undefined && !OF_WORKFLOW.test(agentId) && !agents.knows(agentId)
  })
  return name === undefined
    ? undefined
    : unchangeable(name, 'names no agent of this host; `assay agents` and GET /v1/agents list those there are')
}

/** Checked as a workflow that is registered, and kept for as long as runs may go by it. */
async function definitionOf(plans: Plans, tenant: string, plan: Plan, { nodes }: Changes): Promise<Plan | Refusal> {
  if (nodes.length === 0) return plan
  const definition = changedDefinition(plan.definition, nodes)
  if ('code' in definition) return definition as Refusal
  const checked = await plans.check(definition, tenant)
  if ('code' in checked) {
    const names = nodes.map(({ name }) => name).join(', ')
    const { field } = isObject(checked.details) ? checked.details : {}
    return refuse(checked.code, `assay.set (${names}): ${checked.message}`, field ? { field } : {})
  }
  await plans.keep(tenant, checked)
  return checked.plan
}
