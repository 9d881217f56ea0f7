import type { CheckedEvent, CheckedRun, CheckInput, Finding, Log, LoggedEvent, RunLog } from './checked.js'
import { graphOf } from './graph.js'
import { fields, get, text } from './json.js'
import { RULES } from './rules.js'
import { lastForkSequence } from './story.js'

/**
 * Reads logs and reports every place where they break the contract. Pure; time and memory grow linearly with the
 * events. An empty answer means: as far as the rules go, these logs could have been written by a correct host.
 */
export function checkLog(input: CheckInput): Finding[] {
  const log = index(input)
  const findings: Finding[] = []
  for (const rule of RULES) {
    if (rule.assayOnly === true && input.dialect === 'openwop') continue
    rule.checks(log, (run, message, event) => {
      const found = { rule: rule.id, runId: run.run.runId, message }
      findings.push(event === undefined ? found : { ...found, sequence: event.sequence })
    })
  }
  return findings
}

function index(input: CheckInput): Log {
  const runs = input.runs.map(readRun)
  return { input, runs, byId: new Map(runs.map(run => [run.run.runId, run])) }
}

function readRun(run: CheckedRun): RunLog {
  const events = run.events.map(event => readEvent(run.runId, event))
  const started = events.find(event => event.type === 'run.started')?.payload ?? {}
  const fork = run.fork === undefined ? run.row?.fork : run.fork
  // Where nobody says what a run is a fork of, its log still tells where it was cut.
  const ownFrom = fork === undefined ? lastForkSequence(events) : (fork?.fromSeq ?? 0)
  // A fork is nobody's child, whatever the beginning it shares says.
  const told = fork || ownFrom > 0 ? {} : started
  return {
    run,
    events,
    graph: graphOf(run.definition),
    started,
    parentRunId: run.row?.parentRunId ?? text(told.parentRunId),
    parentNodeId: run.row?.parentNodeId ?? text(told.parentNodeId),
    tenant: run.tenant ?? text(get(started.owner, 'tenant')),
    fork,
    ownFrom,
  }
}

const readEvent = (runId: string, event: CheckedEvent): LoggedEvent => ({
  raw: event,
  id: event.eventId ?? `${runId}:${event.sequence}`,
  sequence: event.sequence,
  type: event.type,
  at: event.at,
  node: event.nodeId ?? undefined,
  payload: fields(event.payload),
})
