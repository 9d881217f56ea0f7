import type { Command } from 'commander'
import pc from 'picocolors'
import type { AssayClient } from '../../client/assay-client.js'
import type { VerificationRow } from '../../client/wire-shapes.js'
import type { Cli } from '../cli.js'
import { answerCommands } from '../progress/interrupt-text.js'
import { openBelow } from '../progress/open-interrupts.js'
import { ATTEMPTS_HEADER, attemptLines, attemptRow, judgedLines, latestOf } from '../reports/findings.js'
import { isWaitingStatus } from '../terminal/exit-code.js'
import { printJson, printTable, type Terminal } from '../terminal/terminal.js'
import { connect, type GlobalOptions } from './connect.js'
import { wholeNumber } from './options.js'

/** Pieces of work whose findings are written out; the others are in the table. */
const SHOWN = 10

export function addFindings(runs: Command, { terminal }: Cli): void {
  runs
    .command('findings')
    .description('what gates found in the results of a run, and what to do next')
    .argument('<runId>')
    .argument('[n]', 'only this attempt, with everything about it', wholeNumber)
    .action(async (runId: string, n: number | undefined, _options, command: Command) => {
      const { json, ...options } = command.optsWithGlobals<GlobalOptions>()
      const client = await connect(options)
      if (n === undefined)
        return json ? printJson(terminal, await client.listVerifications(runId)) : showAll(terminal, client, runId)
      const one = await client.getVerification(runId, n)
      if (json) return printJson(terminal, one)
      for (const line of [...attemptLines(one), ...judgedLines(one)]) terminal.out(line)
      terminal.note(pc.dim(`the result itself: assay runs findings ${runId} ${n} --json`))
    })
}

async function showAll(terminal: Terminal, client: AssayClient, runId: string): Promise<void> {
  const { verifications } = await client.listVerifications(runId)
  if (verifications.length === 0) {
    terminal.note('no gate has judged anything in this run itself')
    return showChildren(terminal, client, runId)
  }
  printTable(terminal, ATTEMPTS_HEADER, verifications.map(attemptRow))
  for (const { n } of latestOf(verifications).slice(-SHOWN)) {
    terminal.out('')
    for (const line of attemptLines(await client.getVerification(runId, n))) terminal.out(line)
  }
  await showChildren(terminal, client, runId)
  for (const step of await nextSteps(client, runId, verifications)) terminal.note(`${pc.dim('next:')}  ${step}`)
}

/** What was judged in the runs that this one has started: whoever decides here is to know. */
async function showChildren(terminal: Terminal, client: AssayClient, runId: string): Promise<void> {
  const { childRuns = [] } = await client.getRun(runId)
  for (const child of childRuns.slice(-SHOWN)) {
    const { verifications } = await client.listVerifications(child.runId)
    if (verifications.length === 0) continue
    terminal.out('')
    terminal.out(`in ${child.runId}, which this run has started:`)
    printTable(terminal, ATTEMPTS_HEADER, verifications.map(attemptRow))
    terminal.note(pc.dim(`all of it: assay runs findings ${child.runId}`))
  }
}

/** An answer that the run waits for comes first; then what else there is to look at. */
async function nextSteps(client: AssayClient, runId: string, rows: readonly VerificationRow[]): Promise<string[]> {
  const run = await client.getRun(runId)
  const open = isWaitingStatus(run.status) && run.status !== 'paused' ? await openBelow(client, run) : []
  return [
    ...open.flatMap(answerCommands),
    ...rows.filter(({ best }) => best).map(({ n }) => `assay runs findings ${runId} ${n} --json`),
  ]
}
