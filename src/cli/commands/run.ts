import { type Command, InvalidArgumentError } from 'commander'
import pc from 'picocolors'
import type { AssayClient } from '../../client/assay-client.js'
import type { CreatedRun, RunEventDoc } from '../../client/wire-shapes.js'
import type { Cli } from '../cli.js'
import { connect, type GlobalOptions } from '../connect.js'
import { type ExitCode, exitCodeOf, isWaiting } from '../exit-code.js'
import { readInputs } from '../inputs.js'
import { runView } from '../live-view.js'
import { printable, printJson, type Terminal } from '../terminal.js'

type Options = GlobalOptions & {
  readonly input: readonly string[]
  readonly tag: readonly string[]
  readonly configurable: readonly string[]
  readonly scope?: string
  readonly idempotencyKey?: string
  readonly wait?: true
  readonly follow?: true
}

export function addRun(program: Command, cli: Cli): void {
  program
    .command('run')
    .description('start a run of a workflow')
    .argument('<workflow>', 'workflow id')
    .option(
      '-i, --input <name=value|@file|->',
      'an input; values are JSON if they read as JSON, else text',
      collect,
      [],
    )
    .option('-c, --configurable <name=value|@file>', 'a run option such as recursionLimit=50', collect, [])
    .option('--tag <tag>', 'label the run', collect, [])
    .option('--scope <id>', 'scope the run belongs to')
    .option('--idempotency-key <key>', 'a repeated command with the same key starts no second run', nonEmpty)
    .option('-w, --wait', 'wait for the end and print the outputs')
    .option('-f, --follow', 'show every event as it happens, and wait for the end')
    .action(async (workflowId: string, _options, command: Command) => {
      const options = command.optsWithGlobals<Options>()
      const client = await connect(options)
      const created = await client.createRun(
        {
          workflowId,
          inputs: await readInputs(options.input, cli.terminal.readStdin),
          ...(options.configurable.length > 0 && {
            configurable: await readInputs(options.configurable, cli.terminal.readStdin),
          }),
          ...(options.tag.length > 0 && { tags: [...options.tag] }),
          ...(options.scope !== undefined && { scopeId: options.scope }),
        },
        options.idempotencyKey,
      )
      if (options.wait || options.follow) cli.exit(await watch(cli.terminal, client, created, workflowId, options))
      else announce(cli.terminal, created, options)
    })
}

function announce(terminal: Terminal, created: CreatedRun, options: Options): void {
  if (options.json) return printJson(terminal, created)
  terminal.out(created.runId)
  terminal.note(pc.dim(`follow it with: assay runs events --follow ${created.runId}`))
}

/** Shows the run until it ends or waits for someone; prints its outputs, or why there are none. */
async function watch(
  terminal: Terminal,
  client: AssayClient,
  { runId }: CreatedRun,
  workflowId: string,
  options: Options,
): Promise<ExitCode> {
  const view = runView(terminal, `${workflowId} ${runId}`, !options.follow || options.json === true)
  try {
    for await (const event of client.followEvents(runId)) {
      view.show(event)
      if (mayWait(event) && isWaiting((await client.getRun(runId)).status)) break
    }
  } finally {
    view.end()
  }
  const run = await client.getRun(runId)
  const { outputs } = view.end()
  if (options.json) printJson(terminal, { ...run, ...(outputs && { outputs }) })
  else if (run.status === 'completed') printJson(terminal, outputs ?? {})
  else terminal.note(ending(run.status, run.error, runId))
  return exitCodeOf(run.status)
}

export const mayWait = (event: RunEventDoc): boolean =>
  event.type === 'run.paused' || event.type === 'node.suspended' || event.type === 'interrupt.requested'

function ending(status: string, error: { code: string; message: string } | undefined, runId: string): string {
  const reason = error === undefined ? '' : `: ${printable(error.message)} ${pc.dim(`[${printable(error.code)}]`)}`
  const line = `${pc.red('run')} ${runId} ${status}${reason}`
  if (status === 'failed' || status === 'cancelled') return line
  return `run ${runId} is ${status}\n${pc.dim('next:')}  assay runs get ${runId}`
}

export const collect = (value: string, before: readonly string[]): string[] => [...before, value]

function nonEmpty(value: string): string {
  if (value === '') throw new InvalidArgumentError('must not be empty')
  return value
}
