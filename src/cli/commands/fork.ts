import type { Command } from 'commander'
import pc from 'picocolors'
import type { AssayClient } from '../../client/assay-client.js'
import type { EventDiff, RunDiff, RunEventDoc } from '../../client/wire-shapes.js'
import type { JsonObject } from '../../core/json.js'
import type { Cli } from '../cli.js'
import { followRun, watchRun } from '../progress/watch.js'
import { comparisonLines } from '../reports/comparison.js'
import { diffLines, eventPair, isEqual, isPersonsStop, isSameStory } from '../reports/diff.js'
import { EXIT, exitCodeOf } from '../terminal/exit-code.js'
import { printable, printJson } from '../terminal/terminal.js'
import { connect, type GlobalOptions } from './connect.js'
import { readInputs } from './inputs.js'
import { collectOption, wholeNumber } from './options.js'

/** Going back in a run: a branch lives on from there, a replay tells it again, a diff and a comparison hold two against each other. */
export function addForks(runs: Command, cli: Cli): void {
  addFork(runs, cli)
  addRetry(runs, cli)
  addReplay(runs, cli)
  addDiff(runs, cli)
  addCompare(runs, cli)
}

type ForkOptions = GlobalOptions & {
  readonly from: number
  readonly set: readonly string[]
  readonly tag: readonly string[]
  readonly memoryAsOf?: number
  readonly follow?: true
}

function addFork(runs: Command, { terminal, exit }: Cli): void {
  runs
    .command('fork')
    .description('branch off: a new run with the same beginning that goes on by itself, with real effects')
    .argument('<runId>')
    .requiredOption('--from <sequence>', 'first event that is not shared', wholeNumber)
    .option(
      '--set <name=value|@file>',
      'what to change: a run option, agents.ID.model, agents.ID.modelClass, or nodes.ID.config.FIELD; may be repeated',
      collectOption,
      [],
    )
    .option('--memory-as-of <sequence>', 'remember what the run saw before this event, not before the cut', wholeNumber)
    .option('--tag <tag>', 'label the branch', collectOption, [])
    .option('-f, --follow', 'show every event as it happens, and wait for the end')
    .action(async (runId: string, _options, command: Command) => {
      const { from, set, tag, memoryAsOf, follow, json, ...options } = command.optsWithGlobals<ForkOptions>()
      const client = await connect(options)
      const { options: configurable, changes } = sorted(await readInputs(set, terminal.readStdin, '--set'))
      const overlay = {
        ...(Object.keys(configurable).length > 0 && { configurable }),
        ...(tag.length > 0 && { tags: [...tag] }),
      }
      const own = {
        ...(Object.keys(changes).length > 0 && { set: changes }),
        ...(memoryAsOf !== undefined && { memoryAsOf }),
      }
      const fork = await client.forkRun(runId, {
        mode: 'branch',
        fromSeq: from,
        ...(Object.keys(overlay).length > 0 && { runOptionsOverlay: overlay }),
        ...(Object.keys(own).length > 0 && { assay: own }),
      })
      if (follow) {
        const watching = { title: `branch ${fork.runId}`, quiet: json === true, json: json === true }
        return exit(await watchRun(terminal, client, fork.runId, watching))
      }
      if (json) return printJson(terminal, fork)
      terminal.out(fork.runId)
      terminal.note(pc.dim(`follow it with: assay runs follow ${fork.runId}`))
      terminal.note(pc.dim(`then compare: assay runs compare ${runId} ${fork.runId}`))
    })
}

type RetryOptions = GlobalOptions & { readonly follow?: true }

function addRetry(runs: Command, { terminal, exit }: Cli): void {
  runs
    .command('retry')
    .description('try again what has failed: a failed run in a branch from before its failed node; what backs off, now')
    .argument('<runId>')
    .argument('[node]', 'only this node')
    .option('-f, --follow', 'show every event as it happens, and wait for the end')
    .action(async (runId: string, nodeId: string | undefined, _options, command: Command) => {
      const { follow, json, ...options } = command.optsWithGlobals<RetryOptions>()
      const client = await connect(options)
      const retried = await client.retryRun(runId, nodeId)
      if (follow) {
        const watching = { title: `retry ${retried.runId}`, quiet: json === true, json: json === true }
        return exit(await watchRun(terminal, client, retried.runId, watching))
      }
      if (json) return printJson(terminal, retried)
      terminal.out(retried.runId)
      const what = retried.nodeId === undefined ? 'what it waits to try again' : `node ${retried.nodeId}`
      terminal.note(
        pc.dim(
          retried.sourceRunId === undefined
            ? `tries ${what} now`
            : `goes on from before ${what} of ${retried.sourceRunId}`,
        ),
      )
      terminal.note(pc.dim(`follow it with: assay runs follow ${retried.runId}`))
    })
}

/** Names of agents and nodes are changes of the branch; whatever else there is, is an option of its run. */
function sorted(set: JsonObject): { readonly options: JsonObject; readonly changes: JsonObject } {
  const isChange = ([name]: [string, unknown]) => /^(agents|nodes)\./.test(name)
  const entries = Object.entries(set)
  return {
    options: Object.fromEntries(entries.filter(entry => !isChange(entry))),
    changes: Object.fromEntries(entries.filter(isChange)),
  }
}

type ReplayOptions = GlobalOptions & { readonly from?: number; readonly check?: true }

function addReplay(runs: Command, { terminal, exit }: Cli): void {
  runs
    .command('replay')
    .description('tell a run again by the rules of today, from what it heard; nothing is called, nobody is asked')
    .argument('<runId>')
    .option('--from <sequence>', 'first event to tell again', wholeNumber)
    .option('--check', 'compare the replay with its source: exit code 1 when they differ')
    .action(async (sourceRunId: string, _options, command: Command) => {
      const { from, check, json = false, ...options } = command.optsWithGlobals<ReplayOptions>()
      const client = await connect(options)
      const fork = await client.forkRun(sourceRunId, { mode: 'replay', ...(from !== undefined && { fromSeq: from }) })
      const title = `replay ${fork.runId}`
      const { run, events } = await followRun(terminal, client, fork.runId, { title, quiet: true, json: true })
      const diff = check ? await client.diffRuns(sourceRunId, fork.runId) : undefined
      const told = { runId: fork.runId, sourceRunId, fromSeq: fork.fromSeq, status: run.status, events }
      if (json) printJson(terminal, diff === undefined ? told : { ...told, equal: isRetold(diff), diff })
      else {
        terminal.out(`${fork.runId} ${run.status}`)
        if (diff !== undefined) for (const line of await verdict(client, diff, events)) terminal.out(line)
      }
      exit(diff === undefined ? exitCodeOf(run) : isRetold(diff) ? EXIT.ok : EXIT.failed)
    })
}

/** A source that goes on is compared as far as it is; its replay has ended all the same. */
const isRetold = (diff: RunDiff): boolean => (diff.truncated ? isSameStory(diff) : isEqual(diff))

/** What `--check` found: `a` is the source, `b` its replay. */
async function verdict(client: AssayClient, diff: RunDiff, events: number): Promise<string[]> {
  const [first] = diff.eventDiffs
  if (isRetold(diff)) {
    const compared = diff.truncated ? (await client.readEvents(diff.a)).length : events
    const part = diff.truncated ? ' (all that the source has so far)' : ''
    return [`${pc.green('replay is equal')}: ${compared} events${part}`]
  }
  if (first === undefined) return [pc.red('replay differs in its state'), ...diffLines(diff)]
  const told = await toldInstead(client, diff, first)
  return [
    `${pc.red('replay differs')} at event ${first.seq}:`,
    ...eventPair(first.aEvent, told, ['source', 'replay']),
    ...(first.aEvent !== undefined && isPersonsStop(first.aEvent)
      ? ['a person cancelled the source here; a replay repeats no cancelling, so it parts from its source by design']
      : []),
    pc.dim(printable(`all differences: assay runs diff ${diff.a} ${diff.b}`)),
  ]
}

/** A replay first says that it parts from its source, then what it tells instead. */
async function toldInstead(client: AssayClient, diff: RunDiff, first: EventDiff): Promise<RunEventDoc | undefined> {
  if (first.bEvent?.type !== 'replay.diverged') return first.bEvent
  return (await client.readEvents(diff.b)).find(event => event.sequence === first.seq + 1)
}

function addDiff(runs: Command, { terminal, exit }: Cli): void {
  runs
    .command('diff')
    .description('where two runs differ; exit code 1 when they do')
    .argument('<a>', 'run id')
    .argument('<b>', 'run id')
    .action(async (a: string, b: string, _options, command: Command) => {
      const { json, ...options } = command.optsWithGlobals<GlobalOptions>()
      const diff = await (await connect(options)).diffRuns(a, b)
      if (json) printJson(terminal, diff)
      else for (const line of diffLines(diff)) terminal.out(line)
      exit(isEqual(diff) ? EXIT.ok : EXIT.failed)
    })
}

function addCompare(runs: Command, { terminal, exit }: Cli): void {
  runs
    .command('compare')
    .description('what two runs with a common past did after it, step by step, with cost; exit code 1 when they differ')
    .argument('<a>', 'run id')
    .argument('<b>', 'run id, such as that of a fork of a')
    .action(async (a: string, b: string, _options, command: Command) => {
      const { json, ...options } = command.optsWithGlobals<GlobalOptions>()
      const comparison = await (await connect(options)).compareRuns(a, b)
      if (json) printJson(terminal, comparison)
      else for (const line of comparisonLines(comparison)) terminal.out(line)
      exit(comparison.equal ? EXIT.ok : EXIT.failed)
    })
}
