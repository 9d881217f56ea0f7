import { type Command, InvalidArgumentError } from 'commander'
import pc from 'picocolors'
import type { CreatedRun } from '../../client/wire-shapes.js'
import type { Cli } from '../cli.js'
import { connect, type GlobalOptions } from '../connect.js'
import { readInputs } from '../inputs.js'
import { printJson, type Terminal } from '../terminal.js'
import { watch } from '../watch.js'
import { collect } from './options.js'

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
            configurable: await readInputs(options.configurable, cli.terminal.readStdin, '--configurable'),
          }),
          ...(options.tag.length > 0 && { tags: [...options.tag] }),
          ...(options.scope !== undefined && { scopeId: options.scope }),
        },
        options.idempotencyKey,
      )
      if (options.wait || options.follow) {
        const title = `${workflowId} ${created.runId}`
        const quiet = !options.follow || options.json === true
        cli.exit(await watch(cli.terminal, client, created.runId, { title, quiet, json: options.json === true }))
      } else announce(cli.terminal, created, options)
    })
}

function announce(terminal: Terminal, created: CreatedRun, options: Options): void {
  if (options.json) return printJson(terminal, created)
  terminal.out(created.runId)
  terminal.note(pc.dim(`follow it with: assay runs events --follow ${created.runId}`))
}

function nonEmpty(value: string): string {
  if (value === '') throw new InvalidArgumentError('must not be empty')
  return value
}
