import type { Command } from 'commander'
import pc from 'picocolors'
import { backtestReport } from '../../calibration/backtest.js'
import { type Original, plantedReport, samplesOf } from '../../calibration/planted.js'
import { spentOn, type Trial, type Unjudged } from '../../calibration/trials.js'
import type { JudgedResult } from '../../client/wire-shapes.js'
import { systemClock } from '../../system.js'
import type { Cli } from '../cli.js'
import { count, usd } from '../progress/agent-text.js'
import { backtestLines, FLIPS_HEADER, flipRow } from '../reports/backtest.js'
import { CALIBRATION_HEADER, calibrationLines, calibrationRows } from '../reports/calibration.js'
import {
  DEFECTS_HEADER,
  defectRows,
  JUDGES_HEADER,
  judgeRows,
  type PlantedDemands,
  plantedLines,
  plantedShortfalls,
} from '../reports/planted.js'
import { EXIT } from '../terminal/exit-code.js'
import { printable, printJson, printTable } from '../terminal/terminal.js'
import { connect, type GlobalOptions } from './connect.js'
import { collectOption, shareOption, wholeNumber } from './options.js'
import {
  asJudged,
  lackingSources,
  MOST_VERDICTS,
  namedSources,
  type OriginalOptions,
  originals,
  USUAL_ORIGINALS,
} from './originals.js'
import { sinceTime } from './since.js'
import { holdTrials } from './trials.js'

/** R-DWS-26: judging the judges. */
export function addVerifiers(program: Command, cli: Cli): void {
  const verifiers = program.command('verifiers').description('how good those are who judge at gates')
  addCalibration(verifiers, cli)
  addTest(verifiers, cli)
  addBacktest(verifiers, cli)
}

type SinceOption = GlobalOptions & { readonly since?: string }

const sinceOf = ({ since }: SinceOption): { since?: string } =>
  since === undefined ? {} : { since: sinceTime(since, systemClock.now()) }

function addCalibration(verifiers: Command, { terminal }: Cli): void {
  verifiers
    .command('calibration')
    .description('how right the judges of a gate have been, as far as the truth is known')
    .argument('<gate>')
    .option('--since <time>', 'only verdicts since then: 7d, or an ISO 8601 time')
    .action(async (gateId: string, _options, command: Command) => {
      const options = command.optsWithGlobals<SinceOption>()
      const query = sinceOf(options)
      const found = await (await connect(options)).getCalibration(gateId, query)
      if (options.json) return printJson(terminal, found)
      if (found.attempts === 0)
        terminal.note(`gate ${gateId} has judged nothing${query.since ? ' since then' : ' yet'}`)
      const rows = calibrationRows(found)
      if (rows.length > 0) printTable(terminal, CALIBRATION_HEADER, rows)
      for (const line of calibrationLines(found)) terminal.out(line)
    })
}

type TestOptions = GlobalOptions &
  OriginalOptions &
  PlantedDemands & {
    readonly seed: number
  }

function addTest(verifiers: Command, { terminal, exit }: Cli): void {
  verifiers
    .command('test')
    .description('plant defects in known-good outputs and see which ones the gate catches; no worker is called')
    .argument('<gate>')
    .option('--output <file>', 'a known-good output, JSON or YAML, or - for stdin; repeatable', collectOption, [])
    .option(
      '--context <file>',
      'the sources that the gate names, by entry, JSON or YAML; once for all outputs, or once for each',
      collectOption,
      [],
    )
    .option('--from-runs <n>', `the latest outputs that passed the gate (${USUAL_ORIGINALS})`, wholeNumber)
    .option('--seed <n>', 'another seed plants the defects elsewhere', wholeNumber, 1)
    .option('--min-caught <share>', 'end with 1 when a smaller share of the defects is caught: 0.8 or 80%', shareOption)
    .option('--max-false-alarms <share>', 'end with 1 when a greater share of the good outputs is stopped', shareOption)
    .action(async (gateId: string, _options, command: Command) => {
      const { json, ...options } = command.optsWithGlobals<TestOptions>()
      const client = await connect(options)
      const good = await originals(terminal, client, gateId, options)
      const samples = samplesOf(good, options.seed, options.output.length > 0)
      const planted = count(samples.length - good.length, 'planted defect')
      terminal.note(pc.dim(`${count(good.length, 'known-good output')}, ${planted}, seed ${options.seed}`))
      const trials = await holdTrials(terminal, client, gateId, samples)
      const report = plantedReport(trials)
      const lacking = lackingSources(trials, await namedSources(client, gateId))
      if (lacking.length > 0) terminal.note(`could not be checked without ${lacking.join(', ')}: ${HOW_TO_BRING}`)
      const short = plantedShortfalls(report, options)
      exit(report.unjudged.count === trials.length || short.length > 0 ? EXIT.failed : EXIT.ok)
      for (const line of short) terminal.note(line)
      if (json) return printJson(terminal, { gateId, seed: options.seed, ...report, cost: spentOn(trials) })
      printTable(terminal, DEFECTS_HEADER, defectRows(report))
      terminal.out('')
      printTable(terminal, JUDGES_HEADER, judgeRows(report))
      for (const line of plantedLines(report)) terminal.out(line)
      for (const line of closing(report.unjudged, trials)) terminal.out(line)
    })
}

type BacktestOptions = GlobalOptions & { readonly since: string; readonly limit: number }

const USUAL_RESULTS = 50

function addBacktest(verifiers: Command, { terminal }: Cli): void {
  verifiers
    .command('backtest')
    .description('what the gate, as it is now, would say of what it has judged before; no worker is called')
    .argument('<gate>')
    .requiredOption('--since <time>', 'results judged since then: 7d, or an ISO 8601 time')
    .option('--limit <n>', `the latest results (at most ${MOST_VERDICTS})`, wholeNumber, USUAL_RESULTS)
    .action(async (gateId: string, _options, command: Command) => {
      const { json, limit, ...options } = command.optsWithGlobals<BacktestOptions>()
      const since = sinceTime(options.since, systemClock.now())
      const client = await connect(options)
      const { verdicts } = await client.listVerdicts(gateId, { since, limit })
      terminal.note(
        verdicts.length === 0
          ? `gate ${gateId} has judged nothing since ${since}`
          : pc.dim(`${count(verdicts.length, 'result')}, of the latest ${limit} verdicts since ${since} (--limit)`),
      )
      const past = verdicts.map(({ context = [], ...one }): Past => ({ ...one, ...asJudged({ ...one, context }) }))
      const trials = await holdTrials(terminal, client, gateId, past)
      const report = backtestReport(trials)
      const lacking = lackingSources(trials, await namedSources(client, gateId))
      if (lacking.length > 0) terminal.note(`could not be checked without ${lacking.join(', ')}: ${NOT_ON_RECORD}`)
      if (json) return printJson(terminal, { gateId, since, ...report, cost: spentOn(trials) })
      if (verdicts.length === 0) return
      if (report.flips.length > 0) printTable(terminal, FLIPS_HEADER, report.flips.map(flipRow))
      for (const line of [...backtestLines(report), ...closing(report.unjudged, trials)]) terminal.out(line)
    })
}

const HOW_TO_BRING = 'the gate names it in its context; bring it with --context FILE, by entry'
const NOT_ON_RECORD = 'the gate did not name it when it judged, so it is not on record'

type Past = Omit<JudgedResult, 'output' | 'context'> & Original

/** What nobody could judge, and what it has cost to ask. */
function closing({ count: unjudged, faults }: Unjudged, trials: readonly Trial<unknown>[]): string[] {
  const { tokens, costUsd } = spentOn(trials)
  const codes = Object.entries(faults).map(([code, n]) => `${code} ${n}×`)
  return [
    ...(unjudged === 0 ? [] : [`not judged: ${unjudged} of ${trials.length} (${printable(codes.join(', '))})`]),
    `cost: ${count(tokens, 'token')}, ${usd(costUsd)}`,
  ]
}
