import { eachRun, type LoggedEvent, type Rule, type RunLog } from './checked.js'
import { get, number, show } from './json.js'
import { DISPATCH, SUPERVISOR } from './rounds.js'
import { lastCut } from './story.js'
import { type RunTrack, walk } from './walk.js'

/** The bound on an orchestrator's turns. */
export const loopBoundRules: readonly Rule[] = [
  {
    id: 'L26d',
    title: 'An orchestrator decides no more often than the bound on its turns allows',
    source: 'agents R-BOUND-1, R-BOUND-3',
    checks: eachRun((run, say, log) => {
      const breach = run.events.find(isLoopBreach)
      const told = breach !== undefined && isTurnBreach(run, breach) ? number(breach.payload.limit) : undefined
      const cut = lastCut(run.events)
      let turns = 0
      let limit = Number.POSITIVE_INFINITY
      walk(run, ({ event, run: track }) => {
        // A turn is refused before it starts; a branch may be cut, and bounded anew, when it has.
        if (event.type === 'node.started' && event.payload.typeId === SUPERVISOR)
          limit = Math.min(
            askedFor(track) ?? Number.POSITIVE_INFINITY,
            log.input.limits?.maxLoopIterations ?? Number.POSITIVE_INFINITY,
            event.sequence < cut ? Number.POSITIVE_INFINITY : (told ?? Number.POSITIVE_INFINITY),
          )
        if (event.type !== 'runOrchestrator.decided') return
        turns += 1
        if (turns > limit) say(`decision ${turns} of ${limit}`, event)
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
        if (event.type === 'runOrchestrator.decided') turns.decided += 1
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

const isLoopBreach = ({ type, payload }: LoggedEvent): boolean =>
  type === 'cap.breached' && payload.kind === 'loop-iterations'

/** Not of a dispatch's own cap, nor of a loop without an orchestrator. */
const isTurnBreach = (run: RunLog, { payload }: LoggedEvent): boolean =>
  run.events.some(
    event =>
      event.type === 'node.started' &&
      event.payload.typeId === SUPERVISOR &&
      (payload.nodeId === undefined || event.node === payload.nodeId),
  )

const askedFor = ({ configurable }: Readonly<RunTrack>): number | undefined => number(configurable.maxLoopIterations)

/** Without the host's ceiling nobody can tell. */
const effective = (asked: number | undefined, ceiling: number | undefined): number | undefined =>
  ceiling === undefined ? undefined : Math.min(asked ?? ceiling, ceiling)

const capOf = (run: RunLog, { payload }: LoggedEvent): number | undefined =>
  number(get(run.graph?.nodes.get(String(payload.nodeId))?.config, 'iterationCap'))
