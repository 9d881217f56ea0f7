import type { RunRow, RunSnapshot } from '../../client/wire-shapes.js'
import { usd } from '../progress/agent-text.js'
import { headline } from '../progress/interrupt-text.js'
import { spanText } from '../terminal/span.js'

/** Runs as `runs list` shows them. */

export const RUNS_HEADER = ['RUN', 'WORKFLOW', 'STATUS', 'STARTED', 'TOOK', 'COST', 'WAITS FOR']

/** `run` is the same run as it is now; a list by itself does not know what it costs and asks. */
export const runRow = (row: RunRow, run: RunSnapshot, now: number): string[] => [
  row.runId,
  row.workflowId,
  row.status,
  row.startedAt,
  tookText(row, now),
  run.assay === undefined ? '' : usd(run.assay.spend.costUsd),
  waitsFor(run),
]

function tookText({ startedAt, completedAt }: RunRow, now: number): string {
  const end = completedAt === undefined ? now : Date.parse(completedAt)
  return `${spanText(end - Date.parse(startedAt))}${completedAt === undefined ? ' so far' : ''}`
}

function waitsFor({ interrupt, childRuns = [] }: RunSnapshot): string {
  if (interrupt !== undefined) return `${interrupt.kind}: ${headline(interrupt.kind, interrupt.data)}`
  const child = childRuns.find(({ status }) => status.startsWith('waiting-'))
  return child === undefined ? '' : `its child ${child.runId}`
}
