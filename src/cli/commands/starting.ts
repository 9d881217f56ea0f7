import { type Command, InvalidArgumentError } from 'commander'
import pc from 'picocolors'
import type { AssayClient } from '../../client/assay-client.js'
import type { CreatedRun } from '../../client/wire-shapes.js'
import type { JsonObject } from '../../core/json.js'
import type { Cli } from '../cli.js'
import { watchRun } from '../progress/watch.js'
import { printJson, type Terminal } from '../terminal/terminal.js'
import type { GlobalOptions } from './connect.js'
import { readInputs } from './inputs.js'
import { collectOption } from './options.js'

/** What commands that start a run have in common. */

export type StartOptions = GlobalOptions & {
  readonly configurable: readonly string[]
  readonly idempotencyKey?: string
  readonly wait?: true
  readonly follow?: true
  readonly allowForced?: true
}

export const addStartOptions = (command: Command): Command =>
  command
    .option('-c, --configurable <name=value|@file>', 'a run option such as recursionLimit=50', collectOption, [])
    .option('--idempotency-key <key>', 'a repeated command with the same key starts no second run', nonEmpty)
    .option('-w, --wait', 'wait for the end and print the outputs')
    .option('--allow-forced', 'with --wait: a result that its gate let through without a pass is no failure')
    .option('-f, --follow', 'show every event as it happens, and wait for the end')

function nonEmpty(value: string): string {
  if (value === '') throw new InvalidArgumentError('must not be empty')
  return value
}

export async function configurableOf(
  { configurable }: StartOptions,
  { readStdin }: Terminal,
): Promise<{ configurable?: JsonObject }> {
  if (configurable.length === 0) return {}
  return { configurable: await readInputs(configurable, readStdin, '--configurable') }
}

/** Waits for the run's end where that is wanted; else says how to follow it. */
export async function seeThrough(
  cli: Cli,
  client: AssayClient,
  created: CreatedRun,
  title: string,
  options: StartOptions,
): Promise<void> {
  const json = options.json === true
  if (options.wait || options.follow) {
    const view = {
      title: `${title} ${created.runId}`,
      quiet: !options.follow || json,
      json,
      allowForced: options.allowForced === true,
    }
    cli.exit(await watchRun(cli.terminal, client, created.runId, view))
  } else if (json) printJson(cli.terminal, created)
  else {
    cli.terminal.out(created.runId)
    cli.terminal.note(pc.dim(`follow it with: assay runs events --follow ${created.runId}`))
  }
}
