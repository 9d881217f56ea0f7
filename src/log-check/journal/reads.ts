import { eachRun, type Log, type LoggedEvent, type Rule, type RunLog } from '../checked.js'
import { get, isFields, list, show, text } from '../json.js'
import { gatesOf, positionOf } from '../verification/verification-attempts.js'
import { journalEventsOf, READ, startOfWork, WRITES } from './places.js'

/** What runs read of what was written. */
export const readRules: readonly Rule[] = [
  {
    id: 'L34e',
    title: 'A read says how many entries it brought and keeps the name of each for the host: so many, and none twice',
    source: 'agents R-MEM-20, design/journal',
    assayOnly: true,
    checks: eachRun((run, say) => {
      for (const event of readsOf(run)) {
        const rows = get(event.raw.secret, 'rows')
        if (!isFields(event.raw.secret)) continue
        if (!Array.isArray(rows) || rows.some(row => nameIn(row) === undefined)) say('it does not name writes', event)
        else if (rows.length !== event.payload.entries || new Set(rows).size !== rows.length)
          say(`${show(event.payload.entries)} entries, and ${new Set(rows).size} of ${rows.length} names`, event)
      }
    }),
  },
  {
    id: 'L34f',
    title:
      'What is read are entries of that space that the same tenant wrote before, and of its own run only what was written before the node began',
    source: 'agents R-MEM-14, R-MEM-19, R-WS-3, design/journal J2, J4',
    assayOnly: true,
    checks: eachRun((run, say, log) => {
      for (const event of readsOf(run))
        for (const row of rowsOf(event)) for (const problem of rowProblems(log, run, event, row)) say(problem, event)
    }),
  },
  {
    id: 'L34g',
    title: 'What a blocking gate holds is read by nobody outside of the work that it holds before the merge is told',
    source: 'agents R-MEM-4, design/journal S15',
    assayOnly: true,
    checks: eachRun((run, say, log) => {
      for (const event of readsOf(run))
        for (const row of rowsOf(event)) {
          const written = writtenAs(log, row)
          if (written && isHeld(log, written, { run, event })) say(`${row.runId}:${row.sequence} is held`, event)
        }
    }),
  },
]

type Row = { readonly runId: string; readonly sequence: number }
type Placed = { readonly run: RunLog; readonly event: LoggedEvent }

const readsOf = (run: RunLog): LoggedEvent[] => journalEventsOf(run).filter(({ type }) => type === READ)

function nameIn(row: unknown): Row | undefined {
  const [, runId = '', sequence] = /^(.+):(\d+)$/.exec(text(row) ?? '') ?? []
  return sequence === undefined ? undefined : { runId, sequence: Number(sequence) }
}

const rowsOf = ({ raw }: LoggedEvent): Row[] =>
  list(get(raw.secret, 'rows'))
    .map(nameIn)
    .filter(row => row !== undefined)

/** Undefined where the log of whoever wrote it was not given. */
function writtenAs(log: Log, { runId, sequence }: Row): Placed | undefined {
  const run = log.byId.get(runId)
  const event = run?.events[sequence]
  return run && event && { run, event }
}

/** Written by a key, outside of runs. */
const OUTSIDE = 'tenant:'

function rowProblems(log: Log, run: RunLog, event: LoggedEvent, row: Row): string[] {
  const name = `${row.runId}:${row.sequence}`
  if (row.runId.startsWith(OUTSIDE))
    return row.runId === `${OUTSIDE}${run.tenant}` ? [] : [`${name} is of another tenant`]
  const writer = log.byId.get(row.runId)
  if (writer === undefined) return []
  const written = writer.events[row.sequence]
  const problems: string[] = []
  const is = written && WRITES[written.type]
  if (is === undefined || is.op !== 'put' || is.space !== event.payload.space) problems.push(`${name} is no such entry`)
  if (writer.tenant !== run.tenant) problems.push(`${name} is of another tenant`)
  if (written !== undefined && written.at > event.at + (log.input.limits?.clockSkewMs ?? 0))
    problems.push(`${name} was not written yet`)
  const isOwn = writer === run || (run.fork?.mode === 'replay' && run.fork.sourceRunId === row.runId)
  const start = startOfWork(run).get(event)
  if (isOwn && start !== undefined && row.sequence >= start.sequence) problems.push(`${name} came after the node began`)
  return problems
}

/** Whether something stands between the write and its reader, and no merge has been told by then. */
function isHeld(log: Log, { run: writer, event: written }: Placed, reader: Placed): boolean {
  if (isNodeGated(writer, written.node) && !hasEntered(log, writer, written, reader)) return true
  if (isWithin(log, reader.run, writer)) return false
  const hasEnded = ({ type }: LoggedEvent) => type === 'run.completed'
  if (isExitGated(writer) && !toldBefore(log, [writer], hasEnded, reader)) return true
  const isHarvest = ({ payload }: LoggedEvent) =>
    payload.phase === 'output.harvested' && payload.childRunId === writer.run.runId
  return list(writer.started.gatedBy).length > 0 && !toldBefore(log, log.runs, isHarvest, reader)
}

/** By the completion of its node, in the log of its run or of a fork of it. */
function hasEntered(log: Log, writer: RunLog, written: LoggedEvent, reader: Placed): boolean {
  const since = get(written.raw.secret, 'since')
  const merges = ({ type, node, raw }: LoggedEvent) =>
    type === 'node.completed' && node === written.node && get(raw.secret, 'since') === since
  return toldBefore(
    log,
    log.runs.filter(run => run === writer || isForkOf(log, run, writer)),
    merges,
    reader,
  )
}

const toldBefore = (
  { input }: Log,
  runs: readonly RunLog[],
  tells: (event: LoggedEvent) => boolean,
  { run: readerRun, event: reader }: Placed,
): boolean =>
  runs.some(run =>
    run.events.some(
      event =>
        tells(event) &&
        (run === readerRun
          ? event.sequence < reader.sequence
          : event.at <= reader.at + (input.limits?.clockSkewMs ?? 0)),
    ),
  )

const isBlocking = (gate: { readonly gate_behaviour?: unknown }): boolean =>
  get(gate.gate_behaviour, 'blocking') === true

const isNodeGated = (run: RunLog, node: string | undefined): boolean =>
  (gatesOf(run) ?? []).some(
    gate =>
      isBlocking(gate) &&
      positionOf(gate, 'phase_id') === node &&
      positionOf(gate, 'placement') !== 'workflow_exit' &&
      positionOf(gate, 'tool_name') === undefined,
  )

const isExitGated = (run: RunLog): boolean =>
  (gatesOf(run) ?? []).some(gate => isBlocking(gate) && positionOf(gate, 'placement') === 'workflow_exit')

const isForkOf = (log: Log, run: RunLog | undefined, source: RunLog): boolean => {
  const from = run?.fork ? log.byId.get(run.fork.sourceRunId) : undefined
  return from !== undefined && (from === source || isForkOf(log, from, source))
}

/** The run itself, what works for it, and what was forked off it or off those. */
function isWithin(log: Log, run: RunLog | undefined, whole: RunLog): boolean {
  if (run === undefined || run === whole) return run !== undefined
  const source = run.fork ? log.byId.get(run.fork.sourceRunId) : undefined
  return isWithin(log, source, whole) || isWithin(log, log.byId.get(run.parentRunId ?? ''), whole)
}
