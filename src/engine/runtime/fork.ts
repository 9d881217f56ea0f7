import type { Decision } from '../../core/decider.js'
import { present } from '../../core/present.js'
import { type Refusal, refuse } from '../../core/problem.js'
import type { Fork } from '../../core/replay/events.js'
import { branchOff, narrowedScope, type Overlay, startOf } from '../../core/replay/fork.js'
import { decide, type Rules } from '../../core/run/decide.js'
import type { Recorded } from '../../core/run/events.js'
import type { RunState } from '../../core/run/state.js'
import { isStreamId } from '../../core/standing/stream.js'
import { configurableProblems } from '../../core/workflow/configurable.js'
import { handsOver, type Plan } from '../../core/workflow/plan.js'
import type { TurnTaking } from '../../timing/turns.js'
import { traceBegun } from '../../trace.js'
import type { Answer, ForkRun, InspectedRun, MakeResponse, RunOptions } from '../api.js'
import { openReplay } from '../effects/replay.js'
import { answersOfToday } from '../effects/replay-today.js'
import type { Agents } from '../ports/agents.js'
import type { Clock, Ids } from '../ports/clock.js'
import type { GatedPoint, NewRun } from '../ports/event-log.js'
import type { RunRow } from '../ports/run-index.js'
import type { SchemaChecker } from '../ports/schema-checker.js'
import type { Store } from '../ports/store.js'
import type { Today } from '../ports/today.js'
import { missingRun } from '../queries/missing-run.js'
import { CHAIN_START } from '../log/chain.js'
import { decode } from '../log/encode.js'
import { type Changed, changedBy, type Past, planAt, readPast } from './fork-changes.js'
import { placesOfFork } from './fork-memory.js'
import { gatedPoints } from './gated-points.js'
import type { Plans } from '../plans/plans.js'
import type { DecidedStep, RunWriter } from './run-writer.js'

export type ForkDeps = {
  readonly store: Store
  readonly clock: Clock
  readonly ids: Ids
  readonly schemas: SchemaChecker
  readonly plans: Plans
  readonly agents: Pick<Agents, 'knows' | 'names'>
  readonly runs: RunWriter
  readonly rules: (plan: Plan) => Rules
  readonly turns: TurnTaking
  readonly today: Today
}

type NewFork = { readonly runId: string; readonly tenant: string }

/**
 * A new run that shares the beginning of another (contract core §8). The source is only read, page by page, in turns of its
 * tenant, and no further than this first commit needs. Checks come in this order: is it there, is the cut inside its log,
 * is what it saw
 * of memory and files then still kept (R-MEM-12), do the options fit.
 */
export async function forkRun(
  deps: ForkDeps,
  request: ForkRun,
  response?: MakeResponse,
): Promise<Answer<InspectedRun>> {
  try {
    return await forkedRun(deps, request, response)
  } catch (error) {
    // Its source may have been purged while it was read; whatever was missed then is no fault.
    const missing = await missingRun(deps.store, request.tenant, request.runId, request.fromSeq)
    if (missing.code === 'run_expired') return refused(missing)
    throw error
  }
}

async function forkedRun(deps: ForkDeps, request: ForkRun, response?: MakeResponse): Promise<Answer<InspectedRun>> {
  const { tenant, runId: sourceRunId, mode, fromSeq, overlay = {}, set, memoryAsOf, scopes } = request
  const source = isStreamId(sourceRunId) ? undefined : await deps.store.readRun(tenant, sourceRunId)
  if (!source) return refused(await missingRun(deps.store, tenant, sourceRunId, fromSeq))
  if (fromSeq > source.length) return refused(beyondLog(source, fromSeq))
  const latest = await deps.plans.pinned(source.workflowDigest)
  const runId = deps.ids.run()
  const fork: Fork = { sourceRunId, fromSeq, mode, sourceLength: source.length }
  const past = await readPast(deps, deps.rules(latest), source, { runId, fork })
  const journal = await placesOfFork(
    { ...deps, plans: () => deps.plans },
    { rules: deps.rules(latest), source, past, fork, runId, ...(memoryAsOf === undefined ? {} : { memoryAsOf }) },
  )
  if (journal && 'code' in journal) return refused(journal)
  // No branch changes what options must be like: any definition of the run's will do.
  const misfit = await overlayProblem(deps, tenant, latest, overlay)
  if (misfit) return refused(misfit)

  const before = mode === 'branch' ? await planAt(deps.plans, source, past) : latest
  const place = { plan: before, tenant, runId, fromSeq }
  const changed: Changed | Refusal = set ? await changedBy(deps, place, past, set, overlay) : { plan: before, overlay }
  if ('code' in changed) return refused(changed)
  const { plan } = changed
  const rules = deps.rules(plan)
  const run = { runId, tenant }
  const own = {
    ...(scopes ? { scopes } : {}),
    ...(journal ? { journal } : {}),
    ...asOfNames(memoryAsOf, changed.overlay),
    traceparent: traceBegun(runId, request.traceparent),
  }
  const first =
    mode === 'branch'
      ? await branched(deps, rules, fork, run, past, { ...changed.overlay, ...own })
      : await replayed(deps, rules, fork, run)
  if (!first.ok) return refused(first.refusal)
  const [last] = fromSeq === 0 ? [] : await deps.store.readEvents(sourceRunId, fromSeq - 1, 1)
  const head = fromSeq === 0 ? CHAIN_START : present(last, `event ${fromSeq - 1} of run ${sourceRunId}`).hash
  const begun = { runId, tenant, rules, state: { phase: 'absent', fork } as const, head, kept: fromSeq, characters: 0 }
  const gated = await gatedIn(deps.store, source, plan, first.state)
  return deps.runs.fork(begun, first, newRun(source, plan, gated, first.state, fork), response)
}

/** A fork is held to what its source was, however little of the source it has told so far. */
async function gatedIn(store: Store, { runId }: RunRow, plan: Plan, state: RunState): Promise<GatedPoint[]> {
  const hands = (nodeId: string) => handsOver(plan, nodeId)
  if (state.phase !== 'absent') return gatedPoints(hands, state.gated?.gates ?? [], state.started)
  const first = (await store.readEvents(runId, 0, 1)).map(row => decode(runId, row))[0]
  return first?.type === 'run.started' ? gatedPoints(hands, first.secret?.gates ?? [], first.payload) : []
}

/** As much of a replay as goes into one commit; the driver tells the rest. */
async function replayed(deps: ForkDeps, rules: Rules, fork: Fork, run: NewFork): Promise<DecidedStep> {
  const replay = await openReplay(deps, rules, fork, run)
  const answer = await answersOfToday(deps, { ...run, fork, known: fork.fromSeq, diverged: false })
  const events = (await replay.next(fork.fromSeq, answer)) ?? []
  return { ok: true, events, state: replay.state }
}

async function branched(
  deps: ForkDeps,
  rules: Rules,
  fork: Fork,
  { runId, tenant }: NewFork,
  { cut: { before, shared } }: Past,
  overlay: Overlay,
): Promise<Decision<RunState, Recorded>> {
  const { sourceRunId, fromSeq } = fork
  await deps.turns.room(tenant)
  const now = deps.clock.now()
  if (fromSeq > 0) return branchOff(rules, before, runId, shared, overlay, now)
  const start = startOf(present(shared[0], `event of run ${sourceRunId}`), runId, now)
  const { configurable, scopes, atRest: _, journal, changed, ...others } = overlay
  const merged = configurable === undefined ? {} : { configurable: { ...start.started.configurable, ...configurable } }
  const names = changed && { changed: [...new Set([...(start.started.changed ?? []), ...changed])] }
  // A fork is nobody's child, on whichever host.
  const { foreignParent: _parent, ...own } = start.started
  const started = { ...own, ...others, ...merged, ...names, ...narrowedScope(start.started, scopes) }
  return decide(rules, { phase: 'absent', fork }, { ...start, started, ...(journal ? { journal } : {}) })
}

async function overlayProblem(
  { schemas }: ForkDeps,
  tenant: string,
  { definition }: Plan,
  { configurable }: RunOptions,
): Promise<Refusal | undefined> {
  if (configurable === undefined) return undefined
  const problems = configurableProblems(configurable)
  if (problems.length > 0) return refuse('validation_error', problems.join('; '), { field: 'runOptionsOverlay' })
  const problem =
    definition.configurableSchema && (await schemas.check(definition.configurableSchema, configurable, tenant))
  if (problem === undefined) return undefined
  const message = `runOptionsOverlay.configurable does not fit the workflow's configurableSchema: ${problem}`
  return refuse('validation_error', message, { field: 'runOptionsOverlay.configurable' })
}

/** That the branch remembers otherwise is among what it changes. */
const asOfNames = (memoryAsOf: number | undefined, { changed = [] }: Overlay) =>
  memoryAsOf === undefined ? {} : { memoryAsOf, changed: [...changed, 'memory'] }

/** Ownership is the source's; a fork is nobody's child. */
function newRun(
  { tenant, workflowId, scopeId }: RunRow,
  { digest: workflowDigest }: Plan,
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
