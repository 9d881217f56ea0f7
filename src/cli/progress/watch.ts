import pc from 'picocolors'
import type { AssayClient } from '../../client/assay-client.js'
import type { AskedInterrupt, RunSnapshot } from '../../client/wire-shapes.js'
import { mayWait } from '../../core/view/status.js'
import { findingsHint, forcedNote, givenUp, UNVERIFIED } from '../reports/convergence.js'
import { EXIT, type ExitCode, exitCodeOf, hasGivenUp, isOnlyForced, isWaitingStatus } from '../terminal/exit-code.js'
import { explainError } from '../terminal/explain.js'
import { type LiveView, runView } from '../terminal/live-view.js'
import { askPerson } from '../terminal/prompt.js'
import { printable, printJson, type Terminal } from '../terminal/terminal.js'
import { answerCommands } from './interrupt-text.js'
import { openBelow } from './open-interrupts.js'
import type { Progress } from './progress.js'

export type WatchOptions = {
  readonly title: string
  readonly quiet: boolean
  readonly json: boolean
  /** What gates let through without a pass is not taken for a failure. */
  readonly allowForced?: boolean
  /** Ends the watching; the run goes on. */
  readonly signal?: AbortSignal
}

/**
 * Shows a run until it ends or is left waiting; prints its outputs, or why there are none. What a run that gave up has
 * made is shown beside stdout, so that no script takes it for the result.
 */
export async function watchRun(
  terminal: Terminal,
  client: AssayClient,
  runId: string,
  options: WatchOptions,
): Promise<ExitCode> {
  const { run, progress } = await leaving(terminal, runId, () => followRun(terminal, client, runId, options))
  const { outputs } = progress
  const exit = exitCodeOf(run, options)
  if (hasGivenUp(run) && isOnlyForced(run)) terminal.note(forcedNote(run))
  if (options.json) printJson(terminal, { ...run, ...(outputs && { outputs }) })
  else if (hasGivenUp(run) && exit !== EXIT.ok) for (const line of givenUp(run, outputs)) terminal.note(line)
  else if (run.status === 'completed') printJson(terminal, outputs ?? {})
  else for (const line of await ending(client, run)) terminal.note(line)
  return exit
}

/** Whoever stops watching has not stopped the run, and is told so. */
export async function leaving<T>(terminal: Terminal, runId: string, watch: () => Promise<T>): Promise<T> {
  const leave = () => {
    terminal.note(
      `the run goes on; look again with: assay runs follow ${runId}, or end it with: assay runs cancel ${runId}`,
    )
    process.exit(INTERRUPTED)
  }
  process.once('SIGINT', leave)
  try {
    return await watch()
  } finally {
    process.off('SIGINT', leave)
  }
}

/** As shells say it of a program that Ctrl-C has ended. */
const INTERRUPTED = 130

export type Followed = {
  readonly run: RunSnapshot
  readonly progress: Progress
  /** Events seen: the length of the log, unless it goes on. */
  readonly events: number
}

/** Shows a run until it ends or waits for an answer that nobody here gives. */
export async function followRun(
  terminal: Terminal,
  client: AssayClient,
  runId: string,
  { title, quiet, json, signal }: WatchOptions,
): Promise<Followed> {
  const view = runView(terminal, title, quiet)
  const converse = json ? undefined : terminal.converse
  const asked = new Set<string>()
  let events = 0
  try {
    for await (const event of client.followEvents(runId, signal && { signal })) {
      events = event.sequence + 1
      view.show(event)
      if (!mayWait(event)) continue
      const run = await client.getRun(runId)
      if (needsSomeone(run) && !(await attend(run, { client, view, terminal, converse, asked }))) break
    }
  } finally {
    view.end()
  }
  return { run: await client.getRun(runId), progress: view.end(), events }
}

/** A replay passes through every waiting of its source, but it knows the answers. */
export const needsSomeone = ({ status, forkedFrom }: RunSnapshot): boolean =>
  isWaitingStatus(status) && forkedFrom?.mode !== 'replay'

type Attending = {
  readonly client: AssayClient
  readonly view: LiveView
  readonly terminal: Terminal
  readonly converse: Terminal['converse'] | undefined
  /** What has been put to the person once, so that what is left for later stays left. */
  readonly asked: Set<string>
}

/** Asks the person at the terminal; false when the run waits for what nobody here answers. */
async function attend(run: RunSnapshot, attending: Attending): Promise<boolean> {
  const { client, view, terminal, converse, asked } = attending
  const isNew = (one: AskedInterrupt) => !asked.has(nameOf(one))
  const open = (await openBelow(client, run)).filter(isNew)
  // A paused run takes no answers.
  if (converse === undefined || open.length === 0 || run.status === 'paused') return false
  view.rest()
  // Only while it asks: a terminal that is being read keeps Ctrl-C to itself.
  const conversation = converse()
  for (const one of open) {
    asked.add(nameOf(one))
    await askPerson(one, {
      conversation,
      say: terminal.note,
      send: value => client.resolveInterrupt(one.runId, one.nodeId, value),
      explain: error => explainError(error)?.lines ?? [],
    })
  }
  conversation.end()
  const now = await client.getRun(run.runId)
  if (!needsSomeone(now)) return true
  const next = (await openBelow(client, now)).filter(isNew)
  // Its own log will tell of a run's next question. What a child asks next it may not tell.
  return next.length > 0 && (next.every(one => one.runId === run.runId) || attend(now, attending))
}

const nameOf = ({ runId, interruptId }: AskedInterrupt): string => `${runId}:${interruptId}`

/** How a run that did not complete stands, and what to do next. */
async function ending(client: AssayClient, run: RunSnapshot): Promise<string[]> {
  const { runId, status, error } = run
  if (exitCodeOf(run) === EXIT.failed) {
    const reason = error === undefined ? '' : `: ${printable(error.message)} ${pc.dim(`[${printable(error.code)}]`)}`
    return [
      `${pc.red('run')} ${runId} ${status}${reason}`,
      ...(error?.code === UNVERIFIED ? [findingsHint(runId)] : []),
    ]
  }
  const open = status === 'paused' ? [] : await openBelow(client, run)
  const answers = open.map(one => answerCommands(one)[0] ?? `assay interrupts show ${one.runId} ${one.nodeId}`)
  const other = status === 'paused' ? `assay runs resume ${runId}` : `assay runs get ${runId}`
  return [
    `run ${runId} is ${status}`,
    ...(answers.length > 0 ? answers : [other]).map(command => `${pc.dim('next:')}  ${command}`),
  ]
}
