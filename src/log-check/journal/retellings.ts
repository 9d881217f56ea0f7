import { eachRun, isBefore, type LoggedEvent, type Rule, type RunLog } from '../checked.js'
import { sourceOf } from '../fork/forks.js'
import { fields, get, show } from '../json.js'
import { STAGED } from '../verification/verification-attempts.js'
import { isJournal, startOfWork } from './places.js'

/** Writes that are told again, and those that are merged. */
export const retellingRules: readonly Rule[] = [
  {
    id: 'L34m',
    title:
      'A replay tells of no write, and no read, but those of its source, under the same ids and with the same content',
    source: 'agents R-MEM-21',
    assayOnly: true,
    checks: eachRun((run, say, log) => {
      const source = sourceOf(run, log)
      if (source === undefined || run.fork?.mode !== 'replay') return
      const left = new Map<string, number>()
      for (const event of source.events.slice(0, run.fork.sourceLength))
        if (isJournal(event)) left.set(saidBy(event), (left.get(saidBy(event)) ?? 0) + 1)
      for (const event of run.events.filter(isJournal)) {
        const said = saidBy(event)
        const count = left.get(said) ?? 0
        if (count === 0) say('its source did not tell of it', event)
        left.set(said, count - 1)
      }
    }),
  },
  {
    id: 'L34n',
    title: 'Where gates have judged what a node brought, its completion names the start whose writes are merged by it',
    source: 'agents R-MEM-4, design/journal S15',
    assayOnly: true,
    checks: eachRun((run, say) => {
      for (const event of run.events) {
        const start = startOfWork(run).get(event)
        if (event.type !== 'node.completed' || start === undefined || isBefore(run, 6)) continue
        const since = get(event.raw.secret, 'since')
        const isJudged = event.raw.secret !== undefined && wasStaged(run, start, event)
        if (isJudged ? since !== start.sequence : since !== undefined)
          say(`since is ${show(since)}, and the node works since ${start.sequence}`, event)
      }
    }),
  },
]

/** What it says, wherever in the log it now stands. */
const saidBy = ({ type, node, payload, raw }: LoggedEvent): string => {
  const { since: _since, ...secret } = fields(raw.secret)
  return JSON.stringify([type, node, payload, secret])
}

const wasStaged = (run: RunLog, start: LoggedEvent, end: LoggedEvent): boolean =>
  run.events
    .slice(start.sequence, end.sequence)
    .some(({ type, node, payload }) => type === STAGED && node === end.node && payload.point === 'node')
