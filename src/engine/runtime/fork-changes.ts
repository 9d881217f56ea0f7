import { isObject, type JsonObject } from '../../core/json.js'
import { type Refusal, refuse } from '../../core/problem.js'
import { changeProblem, type PlaceOfCut, withAgents } from '../../core/replay/change-limits.js'
import { type Changes, changedDefinition, changesIn, unchangeable } from '../../core/replay/changes.js'
import { definitionsIn } from '../../core/replay/decide.js'
import { cutOf, type Overlay, retold } from '../../core/replay/fork.js'
import type { Rules } from '../../core/run/decide.js'
import type { Recorded } from '../../core/run/events.js'
import type { RunState } from '../../core/run/state.js'
import type { Plan } from '../../core/workflow/plan.js'
import type { RunOptions } from '../api.js'
import type { Agents } from '../ports/agents.js'
import type { RunRow } from '../ports/run-index.js'
import type { Store } from '../ports/store.js'
import { decode } from './encode.js'
import type { Plans } from './plans.js'
import { keptState } from './snapshot.js'

/** What of a run a branch goes on from. */
export type Past = {
  /** As much of it as is kept folded. */
  readonly kept: RunState
  /** What came after, up to the cut; of a run that is cut before its first event, that event. */
  readonly log: readonly Recorded[]
  /** The cut goes between two decisions. */
  readonly atRest: boolean
}

export async function readPast(store: Store, { runId, length }: RunRow, fromSeq: number): Promise<Past> {
  const kept = (await keptState(store, runId, fromSeq)) ?? { phase: 'absent' }
  const from = kept.phase === 'absent' ? 0 : kept.next
  const rows = await store.readEvents(runId, from, Math.max(fromSeq, 1) - from + 1)
  const read = rows.map(row => decode(runId, row))
  const log = read.filter(({ sequence }) => sequence < Math.max(fromSeq, 1))
  const next = read.find(({ sequence }) => sequence === fromSeq)
  return { kept, log, atRest: fromSeq === length || next?.input !== undefined }
}

/** The definition that a run went by at a place in its log; only a branch has had more than one. */
export async function planAt(plans: Plans, { workflowDigest, fork }: RunRow, { kept, log }: Past): Promise<Plan> {
  const digest = fork === null ? undefined : definitionsIn(kept, log).at(-1)?.digest
  return plans.pinned(digest ?? workflowDigest)
}

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
  const state = retold(rules, past.kept, runId, past.log)
  const problem = changeProblem(placeOf(rules, runId, past, fromSeq, state), changes) ?? strangerIn(deps, changes)
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
function placeOf(rules: Rules, runId: string, past: Past, fromSeq: number, state: RunState): PlaceOfCut {
  const gates = state.phase === 'absent' ? [] : (state.gated?.gates ?? [])
  const { plan } = rules
  if (fromSeq === 0) return { plan, gates, state: { phase: 'absent' }, events: [], half: [] }
  const half = past.atRest ? [] : cutOf(rules, past.kept, runId, past.log).shared
  return { plan, gates, state, events: past.log, half }
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
  const checked = await plans.check(definition)
  if ('code' in checked) {
    const names = nodes.map(({ name }) => name).join(', ')
    const { field } = isObject(checked.details) ? checked.details : {}
    return refuse(checked.code, `assay.set (${names}): ${checked.message}`, { ...(field ? { field } : {}) })
  }
  await plans.keep(tenant, checked)
  return checked.plan
}
