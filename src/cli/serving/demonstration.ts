import pc from 'picocolors'
import type { AssayClient } from '../../client/assay-client.js'
import type { RunSnapshot } from '../../client/wire-shapes.js'
import { isLoopback } from '../../config.js'
import { followRun } from '../progress/watch.js'
import { attemptLines } from '../reports/findings.js'
import { goalRows } from '../reports/run-details.js'
import { printable, type Terminal } from '../terminal/terminal.js'
import { row } from './banner.js'
import type { Served } from './served-config.js'

/**
 * What a newcomer is shown, once: two runs of the bundled project, begun and watched like anybody's. Work that a gate
 * sends back, lets pass and merges; and a question that waits for the reader.
 *
 *  1. Only where nothing can be disturbed or paid for: the bundled project, an empty SQLite folder, this machine alone,
 *     the offline model.
 *  2. What has been shown is read from the log: each of the two runs is made once, also where the host died in between.
 *  3. What is seen is what the events of the runs and their findings tell, drawn as `assay run --follow` draws it.
 */

const TAG = 'demonstration'
const CHECKED = 'checked-answer'
const WAITING = 'approval'
const PARTS = [CHECKED, WAITING]

export function mayDemonstrate({ config, isBundled }: Served): boolean {
  const { worker, supervisor, verifier, providers } = config.agents.models
  const isOffline = [worker, supervisor, verifier].every(({ provider }) => providers[provider]?.kind === 'scripted')
  return isBundled && isOffline && !config.conformance && config.database.kind === 'sqlite' && isLoopback(config.host)
}

export type Showing = {
  readonly client: AssayClient
  readonly terminal: Terminal
  /** How this program is called here. */
  readonly command: string
  readonly signal: AbortSignal
}

/** On a screen it is watched; elsewhere the runs are made, and nothing is said. */
export async function demonstrate(showing: Showing): Promise<void> {
  const { client, terminal } = showing
  const made: RunSnapshot[] = []
  for (const workflowId of await partsLeft(client)) {
    const { runId } = await client.createRun({ workflowId, tags: [TAG] }, `${TAG}-${workflowId}`)
    if (terminal.isLive) made.push(await shown(workflowId, runId, showing))
  }
  for (const line of made.flatMap(run => whatNext(run, showing.command))) terminal.note(line)
}

/** Those not begun yet; none where somebody else has used the host. */
async function partsLeft(client: AssayClient): Promise<string[]> {
  const { runs } = await client.listRuns({ tag: TAG, limit: 100 })
  if (runs.length === 0 && (await client.listRuns({ limit: 1 })).runs.length > 0) return []
  return PARTS.filter(part => runs.every(({ workflowId }) => workflowId !== part))
}

async function shown(workflowId: string, runId: string, { client, terminal, signal }: Showing): Promise<RunSnapshot> {
  const { converse: _, ...screen } = terminal
  terminal.note('')
  const watching = { title: `${workflowId} ${runId}`, quiet: true, json: false, signal }
  const { run, progress } = await followRun(screen, client, runId, watching)
  const { verifications } = await client.listVerifications(runId)
  for (const { n } of verifications)
    for (const line of attemptLines(await client.getVerification(runId, n))) terminal.note(`  ${line}`)
  for (const [name, value] of goalRows(run)) terminal.note(`  ${pc.dim(name)} ${printable(value)}`)
  if (progress.outputs !== undefined) terminal.note(`  ${printable(JSON.stringify(progress.outputs))}`)
  return run
}

/** Where to look, and what to do about it. */
function whatNext({ runId, workflowId, interrupt }: RunSnapshot, command: string): string[] {
  if (workflowId === CHECKED)
    return [
      '',
      row('findings', `${command} runs findings ${runId}`),
      row('its log', `${command} runs events ${runId}`),
      row('again', `${command} run ${CHECKED} --follow`),
    ]
  const until = interrupt?.expiresAt === undefined ? '' : pc.dim(`  waits for you until ${interrupt.expiresAt}`)
  return [
    row('answer', `${command} interrupts resolve ${runId} --accept${until}`),
    row('your own', `${command} init checked-answer my-project`),
  ]
}
