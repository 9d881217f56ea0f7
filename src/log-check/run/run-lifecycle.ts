import { isPeerRun } from '../handoff/peer-names.js'
import { eachRun, type LoggedEvent, type Rule, type RunLog } from '../checked.js'
import { get, text } from '../json.js'
import { TERMINAL, waitsForChild, walk } from '../walk.js'
import { statusesOf } from './status.js'

/** How a run begins, pauses, stops and ends, and that its row says the same as its log. */
export const runLifecycleRules: readonly Rule[] = [
  {
    id: 'L4',
    title: 'A run that has ended has exactly one terminal event',
    source: 'core §5.3, §13 no. 3',
    checks: eachRun((run, say) => {
      const terminals = run.events.filter(event => TERMINAL.includes(event.type))
      for (const extra of terminals.slice(1)) say(`a second terminal event, ${extra.type}`, extra)
      const ended = ['completed', 'failed', 'cancelled'].includes(run.run.row?.status ?? '')
      if (ended && terminals.length === 0) say(`the row says ${run.run.row?.status}, the log has no terminal event`)
    }),
  },
  {
    id: 'L4a',
    title: 'The row of a run is what its log says: status, length, end, parent',
    source: 'core §5.2',
    checks: eachRun((run, say, log) => {
      for (const problem of rowProblems(run, log.input.dialect !== 'openwop')) say(problem)
    }),
  },
  {
    id: 'L5',
    title: 'Nothing follows the terminal event',
    source: 'core §5.3, §13 no. 3',
    checks: eachRun((run, say) => {
      walk(run, ({ event, run: track }) => {
        if (track.terminal !== undefined) say(`${event.type} after ${track.terminal.type}`, event)
      })
    }),
  },
  {
    id: 'L5a',
    title: 'run.started is the first event and occurs once',
    source: 'core §5.4',
    checks: eachRun((run, say) => {
      run.events.forEach((event, place) => {
        if (place === 0 && event.type !== 'run.started') say(`the first event is ${event.type}`, event)
        if (place > 0 && event.type === 'run.started') say('the run starts again', event)
      })
    }),
  },
  {
    id: 'L5b',
    title: 'run.paused only when not paused, run.resumed only when paused',
    source: 'core §5.4',
    checks: eachRun((run, say) => {
      walk(run, ({ event, run: track }) => {
        if (event.type === 'run.paused' && track.paused) say('paused while paused', event)
        if (event.type === 'run.resumed' && !track.paused) say('resumed while not paused', event)
      })
    }),
  },
  {
    id: 'L5c',
    title: 'No node starts while the run is paused, and none for the first time once a pause was asked for',
    source: 'core §2.1',
    checks: eachRun((run, say) => {
      walk(run, ({ event, run: track, node }) => {
        if (event.type !== 'node.started') return
        if (track.paused) say(`node ${event.node} starts while the run is paused`, event)
        const again = node?.phase === 'retrying' || node?.phase === 'interrupted'
        if (track.pausing && !again) say(`node ${event.node} starts although a pause was asked for`, event)
      })
    }),
  },
  {
    id: 'L5d',
    title:
      'Once a stop was asked for nothing starts, retries, is handed out or harvested; of a peer it may still be heard that it has begun',
    source: 'core §5.1, §10',
    checks: eachRun((run, say) => {
      const begins = ['node.started', 'node.retried', 'node.dispatched', 'dispatch.began', 'output.harvested']
      walk(run, ({ event, run: track }) => {
        const told = text(event.payload.phase) ?? event.type
        const isPeers = told === 'node.dispatched' && isPeerRun(event.payload.childRunId)
        if (track.stop !== undefined && begins.includes(told) && !isPeers) say(`${told} after the stop`, event)
      })
    }),
  },
  {
    id: 'L5e',
    title: 'A stopped run ends the way the stop said',
    source: 'core §5.1',
    checks: eachRun((run, say) => {
      const asked = run.events.filter(event => event.type === 'assay.stop.requested')
      const end = run.events.find(event => TERMINAL.includes(event.type))
      if (asked.length === 0 || end === undefined) return
      const agreed = asked.some(stop => `run.${text(stop.payload.outcome)}` === end.type && sameError(stop, end))
      if (!agreed) say(`${end.type} does not follow from the stop`, end)
    }),
  },
  {
    id: 'L5f',
    title: 'A draining pause takes hold only when no node is running',
    source: 'core §2.1',
    checks: eachRun((run, say) => {
      walk(run, ({ event, nodes }) => {
        if (event.type !== 'run.paused' || event.payload.drainPolicy !== 'drain-current-node') return
        for (const [id, node] of nodes) {
          // An agent rests between two calls; which it does, L23n tells. At the exit nothing is worked on.
          const rests = (node.invoked && node.calling === undefined) || node.leaving !== undefined
          if (node.phase === 'running' && !waitsForChild(node) && !rests) say(`node ${id} is still running`, event)
        }
      })
    }),
  },
]

const sameError = (stop: LoggedEvent, end: LoggedEvent): boolean =>
  end.type !== 'run.failed' || get(stop.payload.error, 'code') === get(end.payload.error, 'code')

function rowProblems(run: RunLog, exact: boolean): string[] {
  const row = run.run.row
  if (row === undefined) return []
  const problems: string[] = []
  const end = run.events.find(event => TERMINAL.includes(event.type))
  const allowed = statusesOf(run, end, exact)
  if (!allowed.includes(row.status)) problems.push(`the row says ${row.status}, the log ${allowed.join(' or ')}`)
  if (row.length !== undefined && row.length !== run.events.length) {
    problems.push(`the row counts ${row.length} events, the log has ${run.events.length}`)
  }
  if (row.endedAt !== undefined && (row.endedAt !== null) !== (end !== undefined)) {
    problems.push(row.endedAt === null ? 'the row has no end, the log has' : 'the row has an end, the log has none')
  }
  if (row.wakeAt !== undefined && row.wakeAt !== null && end !== undefined) problems.push('an ended run is still due')
  for (const key of ['parentRunId', 'parentNodeId'] as const) {
    // A fork is nobody's child.
    const told = run.fork ? undefined : text(run.started[key])
    if (row[key] !== undefined && (row[key] ?? undefined) !== told) {
      problems.push(`the row's ${key} is ${row[key] ?? 'none'}, run.started says ${told ?? 'none'}`)
    }
  }
  return problems
}
