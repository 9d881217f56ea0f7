import fs from 'node:fs/promises'
import { type Command, Option } from 'commander'
import pc from 'picocolors'
import type { AssayClient } from '../../client/assay-client.js'
import type { Fields, RunFilter, RunPage, RunRow, RunSnapshot } from '../../client/wire-shapes.js'
import { mayWait } from '../../core/view/status.js'
import { systemClock } from '../../system.js'
import type { Cli } from '../cli.js'
import { eventLine } from '../progress/progress.js'
import { needsSomeone, watchRun } from '../progress/watch.js'
import {
  gateRows,
  goalRows,
  hasCeilings,
  invocationRows,
  loopRows,
  pricedIn,
  spendRows,
  waitingRows,
  workerRows,
} from '../reports/run-details.js'
import { RUNS_HEADER, runRow } from '../reports/run-table.js'
import { exitCodeOf, hasGivenUp } from '../terminal/exit-code.js'
import { printable, printJson, printTable, type Terminal } from '../terminal/terminal.js'
import { addAncestry } from './ancestry.js'
import { connect, type GlobalOptions } from './connect.js'
import { addFindings } from './findings.js'
import { addForks } from './fork.js'
import { addRunFiles } from './journal/run-files.js'
import { wholeNumber } from './options.js'
import { addReceipt } from './audit/receipt.js'
import { addTranscript } from './transcript.js'
import { addWithheld } from './withheld.js'

export function addRuns(program: Command, cli: Cli): void {
  const runs = program.command('runs').description('look at runs and steer them')
  addReads(runs, cli)
  addAncestry(runs, cli)
  addFindings(runs, cli)
  addWithheld(runs, cli)
  addTranscript(runs, cli)
  addReceipt(runs, cli)
  addRunFiles(runs, cli)
  addLogs(runs, cli)
  addCommands(runs, cli)
  addForks(runs, cli)
}

type ListOptions = GlobalOptions & {
  readonly status?: string
  readonly workflow?: string
  readonly tag?: string
  readonly host?: true
  readonly children?: true
  readonly limit: number
  readonly cursor?: string
}

type EventsOptions = GlobalOptions & { readonly follow?: true; readonly from: number }

function addReads(runs: Command, { terminal }: Cli): void {
  runs
    .command('list')
    .description('runs, newest first')
    .option('--status <status>', 'only runs with this status')
    .option('--workflow <id>', 'only runs of this workflow')
    .option('--tag <tag>', 'only runs with this tag')
    .option('--children', 'those too that other runs have started, as --workflow and --host list them anyway')
    .option('--host', 'verifiers and trials too, which are runs of the host’s own')
    .option('--limit <n>', 'at most this many', wholeNumber, 20)
    .option('--cursor <cursor>', 'continue a list')
    .action(async (_options, command: Command) => {
      const { json, status, workflow, tag, host, children, limit, cursor, ...options } =
        command.optsWithGlobals<ListOptions>()
      const client = await connect(options)
      const filter = {
        ...(status !== undefined && { status }),
        ...(workflow !== undefined && { workflowId: workflow }),
        ...(tag !== undefined && { tag }),
        ...(host && { host: 'true' as const }),
        ...(cursor !== undefined && { cursor }),
      }
      const isListed = (run: RunRow) => children || host || workflow !== undefined || run.parentRunId === undefined
      const page = await pageOf(client, filter, limit, isListed)
      if (json) return printJson(terminal, page)
      const now = systemClock.now()
      const rows = await Promise.all(page.runs.map(async row => runRow(row, await client.getRun(row.runId), now)))
      printTable(terminal, RUNS_HEADER, rows)
      if (page.nextCursor) terminal.note(pc.dim(`more: --cursor ${page.nextCursor}`))
    })

  runs
    .command('get')
    .description('one run as it is now')
    .argument('<runId>')
    .action(async (runId: string, _options, command: Command) => {
      const options = command.optsWithGlobals<GlobalOptions>()
      const client = await connect(options)
      const run = await client.getRun(runId)
      if (options.json) printJson(terminal, run)
      else printRun(terminal, run, hasCeilings(run) ? await client.discover() : {}, await pricedOf(client, run))
    })

  runs
    .command('bundle')
    .description('save how a run went, without its content, for whoever looks into a problem')
    .argument('<runId>')
    .option('--out <file>', 'where to; - is stdout (default: RUN.debug.json)')
    .action(async (runId: string, _options, command: Command) => {
      const options = command.optsWithGlobals<GlobalOptions & { readonly out?: string }>()
      const bundle = await (await connect(options)).debugBundle(runId)
      if (options.json || options.out === '-') return printJson(terminal, bundle)
      const file = options.out ?? `${bundle.run.runId}.debug.json`
      await fs.writeFile(file, `${JSON.stringify(bundle, null, 2)}\n`, { mode: 0o600 })
      terminal.out(file)
      if (bundle.truncated) terminal.note(`not all events are in it: ${bundle.truncatedReason}`)
    })
}

/** So many of them that are to be listed, from as many pages as that takes. */
async function pageOf(
  client: AssayClient,
  filter: RunFilter,
  limit: number,
  isListed: (run: RunRow) => boolean,
): Promise<RunPage> {
  const runs: RunRow[] = []
  for (let next = filter; ; ) {
    const page = await client.listRuns({ ...next, limit: Math.max(1, limit - runs.length) })
    runs.push(...page.runs.filter(isListed))
    if (page.nextCursor === null || runs.length >= limit) return { runs, nextCursor: page.nextCursor }
    next = { ...filter, cursor: page.nextCursor }
  }
}

function addLogs(runs: Command, { terminal, exit }: Cli): void {
  runs
    .command('follow')
    .description('watch a run, answer what it asks, and print its outputs')
    .argument('<runId>')
    .action(async (runId: string, _options, command: Command) => {
      const { json = false, ...options } = command.optsWithGlobals<GlobalOptions>()
      const client = await connect(options)
      exit(await watchRun(terminal, client, runId, { title: runId, quiet: json, json }))
    })

  runs
    .command('events')
    .description('the log of a run')
    .argument('<runId>')
    .option('-f, --follow', 'keep showing events until the run ends or waits for a person')
    .option('--from <sequence>', 'begin here', wholeNumber, 0)
    .action(async (runId: string, _options, command: Command) => {
      const options = command.optsWithGlobals<EventsOptions>()
      const client = await connect(options)
      if (options.follow) {
        for await (const event of client.followEvents(runId, { from: options.from })) {
          terminal.out(options.json ? JSON.stringify(event) : eventLine(event))
          if (mayWait(event) && needsSomeone(await client.getRun(runId))) break
        }
        exit(exitCodeOf(await client.getRun(runId)))
        return
      }
      const events = (await client.readEvents(runId)).filter(event => event.sequence >= options.from)
      if (options.json) return printJson(terminal, { events })
      for (const event of events) terminal.out(eventLine(event))
    })
}

type CommandOptions = GlobalOptions & { readonly reason?: string; readonly drain: string }

function addCommands(runs: Command, { terminal }: Cli): void {
  const command = (name: 'cancel' | 'pause' | 'resume', description: string) =>
    runs
      .command(name)
      .description(description)
      .argument('<runId>')
      .option('--reason <text>', 'why, for the log')
      .action(async (runId: string, _options, self: Command) => {
        const { reason, drain, ...options } = self.optsWithGlobals<CommandOptions>()
        const client = await connect(options)
        const why = reason === undefined ? {} : { reason }
        const answer =
          name === 'cancel'
            ? await client.cancelRun(runId, reason)
            : name === 'pause'
              ? await client.pauseRun(runId, { ...why, drainPolicy: drain })
              : await client.resumeRun(runId, reason)
        if (options.json) printJson(terminal, answer)
        else terminal.out(`${runId} ${printable(String(answer.status))}`)
      })

  command('cancel', 'stop a run and its children for good')
  command('pause', 'hold a run until it is resumed').addOption(
    new Option('--drain <policy>', 'let current nodes finish, or interrupt them')
      .choices(['drain-current-node', 'immediate'])
      .default('drain-current-node'),
  )
  command('resume', 'let a paused run go on')
}

/** Read off the logs only where the sum does not say it: of the run, and of those it has started. */
async function pricedOf(client: AssayClient, { runId, assay, childRuns = [] }: RunSnapshot) {
  if (assay === undefined || assay.spend.costUsd > 0 || assay.spend.tokens === 0) return undefined
  const logs = await Promise.all([runId, ...childRuns.map(child => child.runId)].map(id => client.readEvents(id)))
  return pricedIn(logs.flat())
}

function printRun(terminal: Terminal, run: RunSnapshot, discovery: Fields, priced: ReturnType<typeof pricedIn>): void {
  const line = (name: string, value: string | undefined) => {
    if (value !== undefined) terminal.out(`${pc.dim(name.padEnd(10))} ${printable(value)}`)
  }
  line('run', run.runId)
  line('workflow', run.workflowId)
  line('status', run.status)
  line('started', run.startedAt)
  line('ended', run.completedAt)
  line('node', run.currentNodeId)
  if (run.outputs !== undefined) line(hasGivenUp(run) ? 'unverified' : 'outputs', JSON.stringify(run.outputs))
  const rows = [...waitingRows(run), ...goalRows(run), ...loopRows(run, discovery), ...spendRows(run, priced)]
  for (const [name, value] of rows) line(name, value)
  line('parent', run.parentRunId)
  if (run.forkedFrom !== undefined) {
    const { mode, runId, fromSeq } = run.forkedFrom
    line('forked', `${mode} of ${runId} from event ${fromSeq}${run.diverged ? ', differs from it' : ''}`)
  }
  for (const child of run.childRuns ?? []) line('child', `${child.runId} ${child.status}`)
  if (run.error !== undefined) line('error', `${run.error.message} [${run.error.code}]`)
  for (const [name, value] of Object.entries(run.variables ?? {}))
    line('variable', `${name} = ${JSON.stringify(value)}`)
  for (const [name, value] of Object.entries(run.channels ?? {})) line('channel', `${name} = ${JSON.stringify(value)}`)
  const workers = workerRows(run)
  if (workers.length > 0) printTable(terminal, ['NODE', 'WORKER', 'STATUS', 'CHILD RUN'], workers)
  const gates = gateRows(run)
  if (gates.length > 0)
    printTable(terminal, ['GATE', 'NODE', 'WORKER', 'VERDICT', 'ATTEMPTS', 'BLOCKING', 'WORK COST', 'JUDGING'], gates)
  const invocations = invocationRows(run)
  if (invocations.length > 0) printTable(terminal, ['NODE', 'AGENT', 'MODEL', 'PHASE', 'MODEL CALLS'], invocations)
}
