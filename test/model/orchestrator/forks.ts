import { openInterrupts } from '../../../src/core/interrupt/decide.js'
import { Replay } from '../../../src/core/replay/decide.js'
import type { Fork } from '../../../src/core/replay/events.js'
import { branchOff, inherited, retold } from '../../../src/core/replay/fork.js'
import type { Rules } from '../../../src/core/run/decide.js'
import { isTerminal, type Recorded } from '../../../src/core/run/events.js'
import type { RunInput } from '../../../src/core/run/input.js'
import { runDecider } from '../../../src/core/run/run-decider.js'
import type { RunState } from '../../../src/core/run/state.js'
import type { Counts } from './counts.js'
import { brokenLaws } from './laws.js'
import { RUN_ID, type Setup } from './setup.js'
import { type Input, outcomeOf, WORK } from './world.js'

/** A log that has come to its end, by whatever way. */
type Finished = { readonly rules: Rules; readonly log: readonly Recorded[]; readonly now: number }

const forkOf = (log: readonly Recorded[], fromSeq: number, mode: Fork['mode']): Fork => ({
  sourceRunId: RUN_ID,
  fromSeq,
  mode,
  sourceLength: log.length,
})

/** Told again from there, by a host that has kept the state of the run at an earlier moment between two decisions. */
function replayed({ rules, log }: Finished, fromSeq: number): Recorded[] {
  const fork = forkOf(log, fromSeq, 'replay')
  const known = log.findLast(({ sequence, input }) => sequence <= fromSeq && input !== undefined)?.sequence ?? 0
  const kept = JSON.parse(JSON.stringify(retold(rules, { phase: 'absent' }, RUN_ID, log.slice(0, known)))) as RunState
  const base = inherited(kept, 'run-2', fork)
  const replay = new Replay(rules, base, fork, 'run-2', log.slice(known))
  const own: Recorded[] = []
  for (let told = replay.next(); told !== undefined; told = replay.next()) own.push(...told)
  return [...log.slice(0, fromSeq), ...own]
}

/** Everything but the run that says it, and what the host noted for replays. */
const said = (log: readonly Recorded[]): string[] =>
  log.map(({ sequence, at, type, nodeId, payload, secret, cause }) => {
    const named = 'runId' in payload ? { ...payload, runId: undefined } : payload
    return JSON.stringify({ sequence, at, type, nodeId, payload: named, secret, cause })
  })

/** R-LOOP-9, R-STATE-2: a replay is byte for byte what it retells, up to where a person cancelled it. */
export function checkReplay(source: Finished, fromSeq: number, seen: Counts): void {
  const { log } = source
  const cancelled = log.find(({ sequence, input }) => sequence >= fromSeq && input?.type === 'CancelRun')
  const told = replayed(source, fromSeq)
  if (!isTerminal(told.at(-1)!.type)) fail(source, `a replay from ${fromSeq} does not end`, told)
  const length = cancelled?.sequence ?? Math.max(log.length, told.length)
  const [once, twice] = [said(log.slice(0, length)), said(told.slice(0, length))]
  if (once.length !== twice.length || once.some((line, i) => line !== twice[i]))
    fail(source, `a replay from ${fromSeq} tells another log`, told)
  seen[cancelled ? 'replays of a cancelled run' : 'replays equal'] += 1
}

/** A branch goes on by itself, ends, keeps the laws, and can be retold. */
export function checkBranch(source: Finished, fromSeq: number, setup: Setup, seen: Counts): void {
  const { rules, log, now } = source
  const fork = forkOf(log, fromSeq, 'branch')
  const first = branchOff(rules, { phase: 'absent', fork }, 'run-3', log.slice(0, fromSeq), {}, now + 5_000)
  if (!first.ok) return fail(source, `no branch from ${fromSeq}: ${first.refusal.message}`, [])
  const branch = [...log.slice(0, fromSeq), ...first.events]
  const decider = runDecider(rules)
  let { state } = first
  for (let step = 0; step < 200 && state.phase === 'active'; step += 1) {
    const input = nextFor(rules, state, now + 5_000, setup)
    if (input === undefined) return fail(source, `a branch from ${fromSeq} waits for nothing`, branch)
    const decision = decider.decide(state, { ...input, now: now + 5_000 } as RunInput)
    if (!decision.ok)
      return fail(source, `a branch from ${fromSeq} refuses ${input.type}: ${decision.refusal.message}`, branch)
    branch.push(...decision.events)
    state = decision.state
  }
  if (!isTerminal(branch.at(-1)!.type)) fail(source, `a branch from ${fromSeq} does not end`, branch)
  const broken = brokenLaws(branch, setup.floor)
  if (broken.length > 0) fail(source, `a branch from ${fromSeq}: ${broken.join('; ')}`, branch)
  if (branch.some(({ sequence }, i) => sequence !== i)) fail(source, `a branch from ${fromSeq} has gaps`, branch)
  seen.branches += 1
  if (isOrphaning(branch)) seen['branches with orphaned workers'] += 1
  const finished = { rules, log: branch, now: now + 5_000 }
  checkReplay(finished, Math.floor((fromSeq + branch.length) / 2), seen)
  seen['replays of branches'] += 1
}

function nextFor(rules: Rules, state: RunState, now: number, setup: Setup): Input | undefined {
  const [open] = openInterrupts(rules.plan, state)
  if (open) {
    const { kind, data } = open.asked
    if (open.dueAt !== null && now >= open.dueAt) return { type: 'TimeCame' }
    const questions = (data.questions ?? []) as readonly { readonly id: string }[]
    const answers = Object.fromEntries(questions.map(({ id }) => [id, 'confirm']))
    const value = kind === 'clarification' ? { answers } : { action: 'accept' }
    return { type: 'ResolveInterrupt', nodeId: open.nodeId, value, by: 'bob', via: 'key', shownHash: 'h' }
  }
  const effect = runDecider(rules)
    .pending(state)
    .findLast(owed => !(owed.kind === 'watch-child' && owed.early))
  if (effect?.kind === 'continue') return { type: 'Continue' }
  if (effect?.kind !== 'start-child' && effect?.kind !== 'watch-child') return undefined
  return outcomeOf(effect, WORK, { setup, prefix: 'branch' })
}

/** The same step follows the same `dispatch.began` a second time, for a child of the branch's own. */
function isOrphaning(log: readonly Recorded[]): boolean {
  const began = log.flatMap(event =>
    event.type === 'core.workflowChain.event' && event.payload.phase === 'dispatch.succeeded' ? [event.cause] : [],
  )
  return new Set(began).size < began.length
}

function fail({ log }: Finished, what: string, told: readonly Recorded[]): never {
  const [source, other] = [said(log), said(told)]
  const parting = other.findIndex((line, i) => line !== source[i])
  const heard = log.flatMap(({ sequence, input }) => (input ? [`  ${sequence} ${JSON.stringify(input)}`] : []))
  const from = Math.max(parting - 3, 0)
  throw new Error(
    [what, 'heard:', ...heard, `source from ${from}:`, ...source.slice(from), 'told:', ...other.slice(from)].join('\n'),
  )
}
