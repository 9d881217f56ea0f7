import { Replay } from '../core/replay/decide.js'
import type { Fork } from '../core/replay/events.js'
import { branchOff } from '../core/replay/fork.js'
import type { Rules } from '../core/run/decide.js'
import { nextTimer, pending, wakeAt } from '../core/run/effects.js'
import type { Recorded } from '../core/run/events.js'
import type { RunInput } from '../core/run/input.js'
import { runDecider } from '../core/run/run-decider.js'
import { type Active, type RunState, statusOf } from '../core/run/state.js'
import type { CheckedFork, CheckedRun, CheckInput } from '../log-check/checked.js'
import { type Choose, chance, pick } from '../log-check/testing/choice.js'
import { type GatedStory, gatedStory } from './gated-stories.js'
import { answersTo, type Happening } from './gated-world.js'
import { rulesFor } from './given-when-then.js'

/** Runs whose results are held to gates, told by the real core to a world that does whatever it likes. */

const MOST_STEPS = 300

type Run = {
  readonly runId: string
  readonly fork: Fork | null
  readonly log: Recorded[]
  state: RunState
  now: number
}

/** A run and what was forked off it, as a store would hold them. What its children did is not told. */
export function gatedRuns(choose: Choose): CheckInput {
  const story = gatedStory(choose)
  const rules = rulesFor(story.workflow, ['assay.conformance'], { maxLoopIterations: 50 })
  const first: Run = { runId: 'run-1', fork: null, log: [], state: { phase: 'absent' }, now: 1_000 }
  hear(rules, first, startOf(rules, story))
  live(rules, first, choose)
  const runs = [first]
  for (const mode of story.forks) {
    const fork = forkedFrom(rules, pick(choose, runs), `run-${runs.length + 1}`, mode, choose)
    if (fork !== undefined) runs.push(fork)
  }
  return {
    runs: runs.map(run => stored(rules, run)),
    limits: { maxLoopIterations: rules.limits.maxLoopIterations },
  }
}

const startOf = ({ plan }: Rules, { configurable, gates }: GatedStory): Happening => ({
  type: 'StartRun',
  runId: 'run-1',
  started: {
    workflowId: plan.definition.id,
    workflowDigest: 'digest',
    inputs: {},
    transport: 'rest',
    engineVersion: '3',
    owner: { tenant: 't1' },
    ...(configurable ? { configurable } : {}),
  },
  gates,
})

function hear(rules: Rules, run: Run, happening: Happening): void {
  const decision = runDecider(rules).decide(run.state, { ...happening, now: run.now } as RunInput)
  if (!decision.ok) return
  run.log.push(...decision.events)
  run.state = decision.state
}

/** Until it ends, nobody has anything to say, or nobody looks any more. */
function live(rules: Rules, run: Run, choose: Choose): void {
  const most = chance(choose, 4) ? choose(40) : MOST_STEPS
  for (let step = 0; step < most && run.state.phase === 'active'; step += 1) {
    run.now += choose(3)
    const happening = next(rules, run, run.state, choose)
    if (happening === undefined) return
    hear(rules, run, happening)
  }
}

function next(rules: Rules, run: Run, state: Active, choose: Choose): Happening | undefined {
  const rare = choose(60)
  if (rare === 59) return { type: 'CancelRun', by: 'ann' }
  if (rare === 58) return { type: 'PauseRun', drainPolicy: pick(choose, ['immediate', 'drain-current-node']) }
  if (state.mode.kind === 'paused') return { type: 'ResumeRun' }
  const happenings = answersTo(rules.plan, state, pending(rules, state), choose)
  const timer = nextTimer(rules, state)
  const isNear = timer < run.now + 1_000_000
  if (happenings.length > 0 && !(isNear && chance(choose, 12))) return pick(choose, happenings)
  if (!isNear) return undefined
  run.now = Math.max(run.now, timer)
  return { type: 'TimeCame' }
}

function forkedFrom(rules: Rules, source: Run, runId: string, mode: Fork['mode'], choose: Choose): Run | undefined {
  const fromSeq = choose(source.log.length + 1)
  const fork: Fork = { sourceRunId: source.runId, fromSeq, mode, sourceLength: source.log.length }
  const shared = source.log.slice(0, fromSeq)
  const now = source.now + 10_000
  if (mode === 'replay') {
    const replay = new Replay(rules, { phase: 'absent', fork }, fork, runId, source.log)
    const log = [...shared]
    for (let told = replay.next(); told !== undefined; told = replay.next()) log.push(...told)
    return { runId, fork, log, state: replay.state, now }
  }
  if (fromSeq === 0) return undefined
  const first = branchOff(rules, { phase: 'absent', fork }, runId, shared, {}, now)
  if (!first.ok) return undefined
  const run: Run = { runId, fork, log: [...shared, ...first.events], state: first.state, now }
  live(rules, run, choose)
  return run
}

function stored(rules: Rules, { runId, fork, log, state }: Run): CheckedRun {
  const definition = rules.plan.definition
  const row = {
    status: statusOf(state),
    length: log.length,
    parentRunId: null,
    parentNodeId: null,
    endedAt: state.phase === 'ended' ? state.endedAt : null,
    wakeAt: wakeAt(rules, state),
    fork: fork as CheckedFork | null,
  }
  const events = log.map(({ sequence, type, nodeId, payload, secret, cause, at }) => ({
    sequence,
    eventId: `${runId}:${sequence}`,
    type,
    nodeId: nodeId ?? null,
    payload: plain(payload),
    ...(secret === undefined ? {} : { secret: plain(secret) }),
    causationId: cause === undefined ? null : `${runId}:${cause}`,
    at,
    epoch: 1,
  }))
  return { runId, tenant: 't1', definition: plain(definition), row, events }
}

const plain = (value: unknown): unknown => JSON.parse(JSON.stringify(value)) as unknown
