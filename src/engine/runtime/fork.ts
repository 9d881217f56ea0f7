import type { Decision } from '../../core/decider.js'
import { present } from '../../core/present.js'
import { type Refusal, refuse } from '../../core/problem.js'
import type { Fork } from '../../core/replay/events.js'
import { branchOff, inherited, narrowedScope, type Overlay, startOf } from '../../core/replay/fork.js'
import { decide, type Rules } from '../../core/run/decide.js'
import type { Recorded } from '../../core/run/events.js'
import type { RunState } from '../../core/run/state.js'
import { configurableProblems } from '../../core/workflow/configurable.js'
import { handsOver, type Plan } from '../../core/workflow/plan.js'
import type { Answer, ForkRun, InspectedRun, MakeReceipt, RunOptions } from '../api.js'
import { nextBatch, openReplay } from '../effects/replay.js'
import { answersOfToday } from '../effects/replay-today.js'
import type { Clock, Ids } from '../ports/clock.js'
import type { GatedPoint, NewRun } from '../ports/event-log.js'
import type { RunRow } from '../ports/run-index.js'
import type { SchemaChecker } from '../ports/schema-checker.js'
import type { Store } from '../ports/store.js'
import type { Today } from '../ports/today.js'
import { missingRun } from '../queries/missing-run.js'
import { CHAIN_START } from './chain.js'
import { decode } from './encode.js'
import { gatedPoints } from './gated-points.js'
import type { Plans } from './plans.js'
import type { DecidedStep, RunWriter } from './run-writer.js'
import { keptState } from './snapshot.js'

export type ForkDeps = {
  readonly store: Store
  readonly clock: Clock
  readonly ids: Ids
  readonly schemas: SchemaChecker
  readonly plans: Plans
  readonly runs: RunWriter
  readonly rules: (plan: Plan) => Rules
  readonly today: Today
}

/**
 * A new run that shares the beginning of another (contract core §8). The source is only read. Checks come in this order:
 * is it there, is the cut inside its log, do the options fit.
 */
export async function forkRun(deps: ForkDeps, request: ForkRun, receipt?: MakeReceipt): Promise<Answer<InspectedRun>> {
  try {
    return await forkedRun(deps, request, receipt)
  } catch (error) {
    // Its source may have been purged while it was read; whatever was missed then is no fault.
    const missing = await missingRun(deps.store, request.tenant, request.runId, request.fromSeq)
    if (missing.code === 'run_expired') return refused(missing)
    throw error
  }
}

async function forkedRun(deps: ForkDeps, request: ForkRun, receipt?: MakeReceipt): Promise<Answer<InspectedRun>> {
  const { tenant, runId: sourceRunId, mode, fromSeq, overlay = {}, scopes } = request
  const source = await deps.store.readRun(tenant, sourceRunId)
  if (!source) return refused(await missingRun(deps.store, tenant, sourceRunId, fromSeq))
  if (fromSeq > source.length) return refused(beyondLog(source, fromSeq))
  const plan = await deps.plans.pinned(source.workflowDigest)
  const misfit = await overlayProblem(deps, plan, overlay)
  if (misfit) return refused(misfit)

  const fork: Fork = { sourceRunId, fromSeq, mode, sourceLength: source.length }
  const rules = deps.rules(plan)
  const runId = deps.ids.run()
  const begin = mode === 'replay' ? replayed : branched
  const first = await begin(deps, rules, fork, { runId, tenant }, { ...overlay, ...(scopes ? { scopes } : {}) })
  if (!first.ok) return refused(first.refusal)
  const [last] = fromSeq === 0 ? [] : await deps.store.readEvents(sourceRunId, fromSeq - 1, 1)
  const head = fromSeq === 0 ? CHAIN_START : present(last, `event ${fromSeq - 1} of run ${sourceRunId}`).hash
  const before = { runId, tenant, rules, state: { phase: 'absent', fork } as const, head, kept: fromSeq, characters: 0 }
  const gated = await gatedIn(deps.store, source, plan, first.state)
  return deps.runs.fork(before, first, newRun(source, gated, first.state, fork), receipt)
}

/** A fork is held to what its source was, however little of the source it has told so far. */
async function gatedIn(store: Store, { runId }: RunRow, plan: Plan, state: RunState): Promise<GatedPoint[]> {
  const hands = (nodeId: string) => handsOver(plan, nodeId)
  if (state.phase !== 'absent') return gatedPoints(hands, state.gated?.gates ?? [], state.started)
  const first = (await store.readEvents(runId, 0, 1)).map(row => decode(runId, row))[0]
  return first?.type === 'run.started' ? gatedPoints(hands, first.secret?.gates ?? [], first.payload) : []
}

type Forked = { readonly runId: string; readonly tenant: string }

/** As much of a replay as goes into one commit; the driver tells the rest. */
async function replayed(deps: ForkDeps, rules: Rules, fork: Fork, run: Forked): Promise<DecidedStep> {
  const replay = await openReplay(deps.store, rules, fork, run.runId)
  const answer = await answersOfToday(deps, { ...run, fork, known: fork.fromSeq, diverged: false })
  const events = (await nextBatch(replay, fork.fromSeq, answer)) ?? []
  return { ok: true, events, state: replay.state }
}

async function branched(
  { store, clock }: ForkDeps,
  rules: Rules,
  fork: Fork,
  { runId }: Forked,
  overlay: Overlay,
): Promise<Decision<RunState, Recorded>> {
  const { sourceRunId, fromSeq } = fork
  const kept = (await keptState(store, sourceRunId, fromSeq)) ?? { phase: 'absent' }
  const from = kept.phase === 'absent' ? 0 : kept.next
  const rows = await store.readEvents(sourceRunId, from, Math.max(fromSeq, 1) - from)
  const log = rows.map(row => decode(sourceRunId, row))
  const now = clock.now()
  if (fromSeq > 0) return branchOff(rules, inherited(kept, runId, fork), runId, log, overlay, now)
  const start = startOf(present(log[0], `event of run ${sourceRunId}`), runId, now)
  const { configurable, scopes, ...others } = overlay
  const merged = configurable === undefined ? {} : { configurable: { ...start.started.configurable, ...configurable } }
  const started = { ...start.started, ...others, ...merged, ...narrowedScope(start.started, scopes) }
  return decide(rules, { phase: 'absent', fork }, { ...start, started })
}

async function overlayProblem(
  { schemas }: ForkDeps,
  { definition }: Plan,
  { configurable }: RunOptions,
): Promise<Refusal | undefined> {
  if (configurable === undefined) return undefined
  const problems = configurableProblems(configurable)
  if (problems.length > 0) return refuse('validation_error', problems.join('; '), { field: 'runOptionsOverlay' })
  const problem = definition.configurableSchema && (await schemas.check(definition.configurableSchema, configurable))
  if (problem === undefined) return undefined
  const message = `runOptionsOverlay.configurable does not fit the workflow's configurableSchema: ${problem}`
  return refuse('validation_error', message, { field: 'runOptionsOverlay.configurable' })
}

/** Ownership is the source's; a fork is nobody's child. */
function newRun(
  { tenant, workflowId, workflowDigest, scopeId }: RunRow,
  gated: readonly GatedPoint[],
  state: RunState,
  fork: Fork,
): NewRun {
  const tags = state.phase === 'absent' ? [] : (state.started.tags ?? [])
  const run = { tenant, workflowId, workflowDigest, scopeId, tags: [...tags], fork, gated }
  return { ...run, parentRunId: null, parentNodeId: null, exclusiveScope: false }
}

const beyondLog = ({ runId, length }: RunRow, fromSeq: number): Refusal =>
  refuse(
    'invalid_from_seq',
    `fromSeq is ${fromSeq}, and the log of run ${runId} ends at ${length}; give at most that`,
    {
      sourceRunId: runId,
      fromSeq,
      length,
    },
  )

const refused = (refusal: Refusal): Answer<InspectedRun> => ({ ok: false, refusal })
