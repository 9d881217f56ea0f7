import { eachRun, isBefore, type LoggedEvent, type Rule, type RunLog } from '../checked.js'
import { get, number, show, text } from '../json.js'
import { DISPATCH, SUPERVISOR } from '../node/node-attempts.js'
import { lastForkSequence } from '../story.js'
import { type RunTrack, walk } from '../walk.js'

/** The bound on an orchestrator's turns. */
export const loopBoundRules: readonly Rule[] = [
  {
    id: 'L26d',
    title:
      'An orchestrator decides no more often than the bound on turns allows; work is sent back by the host no more often than that, counted apart',
    source: 'agents R-BOUND-1, R-BOUND-3, R-DWS-34',
    checks: eachRun((run, say, log) => {
      const breach = run.events.find(isLoopBreach)
      const told = breach !== undefined && isTurnBreach(run, breach) ? number(breach.payload.limit) : undefined
      const cut = lastForkSequence(run.events)
      const counts = { turns: 0, reworks: 0 }
      const isApart = !isBefore(run, 3)
      const hasTurns = run.events.some(isTurnStart)
      let limit = Number.POSITIVE_INFINITY
      walk(run, ({ event, run: track }) => {
        // A turn beyond the bound never starts, except in a branch that was cut inside it and given a lower bound.
        // Where nobody takes turns, what the run asks for turns bounds no rework.
        const asked = isApart && event.type === REWORK && !hasTurns ? undefined : askedFor(track)
        if (isTurnStart(event) || event.type === REWORK)
          limit = Math.min(
            asked ?? Number.POSITIVE_INFINITY,
            log.input.limits?.maxLoopIterations ?? Number.POSITIVE_INFINITY,
            event.sequence < cut ? Number.POSITIVE_INFINITY : (told ?? Number.POSITIVE_INFINITY),
          )
        if (!TURNS.includes(event.type)) return
        const counted = isApart && event.type === REWORK ? 'reworks' : 'turns'
        counts[counted] += 1
        if (counts[counted] > limit) say(`${counted} ${counts[counted]} of ${limit}`, event)
      })
    }),
  },
  {
    id: 'L26e',
    title:
      'A breach of the bound on turns names the node that was not started, its limit, and one turn more than there were',
    source: 'agents R-STATE-3, R-BOUND-1, R-BOUND-4',
    checks: eachRun((run, say, log) => {
      const turns = { decided: 0, dispatches: new Map<string, number>() }
      walk(run, ({ event, run: track }) => {
        if (event.type === DECIDED || (event.type === REWORK && isBefore(run, 3))) turns.decided += 1
        if (event.type === 'node.started' && event.payload.typeId === DISPATCH && (event.payload.attempt ?? 0) === 0)
          turns.dispatches.set(event.node ?? '', (turns.dispatches.get(event.node ?? '') ?? 0) + 1)
        if (!isLoopBreach(event)) return
        const ours = isTurnBreach(run, event)
        const counted = ours ? turns.decided : turns.dispatches.get(String(event.payload.nodeId))
        if (counted !== undefined && event.payload.observed !== counted + 1)
          say(`observed ${show(event.payload.observed)} after ${counted} turns`, event)
        const due = ours ? effective(askedFor(track), log.input.limits?.maxLoopIterations) : capOf(run, event)
        if (due !== undefined && event.payload.limit !== due)
          say(`limit ${show(event.payload.limit)}, not ${due}`, event)
      })
    }),
  },
]

const REWORK = 'assay.rework.began'

const DECIDED = 'runOrchestrator.decided'

/** What is bounded; up to version 2 of the rules, work that was sent back took a turn of the orchestrator's. */
const TURNS: readonly string[] = [DECIDED, REWORK]

const isTurnStart = ({ type, payload }: LoggedEvent): boolean =>
  type === 'node.started' && payload.typeId === SUPERVISOR

const isLoopBreach = ({ type, payload }: LoggedEvent): boolean =>
  type === 'cap.breached' && payload.kind === 'loop-iterations'

/** Not of a dispatch's own cap, nor of a loop without an orchestrator. */
const isTurnBreach = (run: RunLog, breach: LoggedEvent): boolean =>
  run.events.some(event => isTurnStart(event) && [undefined, event.node].includes(text(breach.payload.nodeId))) ||
  isReworkBreach(run, breach)

/** The rework that would have taken the turn is not begun. */
function isReworkBreach(run: RunLog, breach: LoggedEvent): boolean {
  const before = run.events.slice(0, breach.sequence)
  const verdict = before.findLast(({ type }) => [...TURNS, 'agent.verified', 'assay.result.withheld'].includes(type))
  return verdict?.payload.verdict === 'revise' && verdict.type === 'agent.verified'
}

const askedFor = ({ configurable }: Readonly<RunTrack>): number | undefined => number(configurable.maxLoopIterations)

/** Undefined when the host's ceiling is not given. */
const effective = (asked: number | undefined, ceiling: number | undefined): number | undefined =>
  ceiling === undefined ? undefined : Math.min(asked ?? ceiling, ceiling)

const capOf = (run: RunLog, { payload }: LoggedEvent): number | undefined =>
  number(get(run.graph?.nodes.get(String(payload.nodeId))?.config, 'iterationCap'))
