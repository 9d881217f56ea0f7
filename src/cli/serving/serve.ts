import { type Command, Option } from 'commander'
import { AssayClient } from '../../client/assay-client.js'
import { readLocalKey } from '../../client/local-key.js'
import type { Config, Overrides } from '../../config.js'
import { mustBe } from '../../core/schema/words.js'
import type { HostParts } from '../../ground.js'
import { flagOf, SETTINGS, type Setting } from '../../project/settings.js'
import { systemClock } from '../../system.js'
import type { Cli } from '../cli.js'
import { EXIT } from '../terminal/exit-code.js'
import { explainError, StartRefused } from '../terminal/explain.js'
import { prettyLog } from '../terminal/pretty-log.js'
import { printable, type Terminal } from '../terminal/terminal.js'
import { banner } from './banner.js'
import { demonstrate, mayDemonstrate } from './demonstration.js'
import { commandHere, servedConfig } from './served-config.js'
import { takeUpChanges } from './take-up-changes.js'
import { whyNotStarted } from './why-not-started.js'

/** Settings without a flag of their own here: `data` is global, and a key on a command line would be seen by others. */
const NO_FLAG = new Set(['data', 'apiKey', 'dataKey'])
const flagged = Object.keys(SETTINGS).filter(setting => !NO_FLAG.has(setting))

type ServeOptions = { readonly demo: boolean }

export function addServe(program: Command, cli: Cli): void {
  const serve = addHosting(program.command('serve').description('run the host until it is told to stop'))
  const dev = addHosting(program.command('dev').description('the same, and take up what changes in the project'))
  serve.action(async (_options, command: Command) => run(command, cli, false))
  dev.action(async (_options, command: Command) => run(command, cli, true))
}

function addHosting(command: Command): Command {
  command.option('--no-demo', 'without a project: do not make the two runs that show what this is')
  for (const setting of flagged) command.addOption(optionFor(setting))
  return command
}

/** Hosts until it is told to stop. */
async function run(command: Command, cli: Cli, takesUpChanges: boolean): Promise<void> {
  const served = servedConfig(overridesFrom(command))
  const { demo } = command.opts<ServeOptions>()
  const { createHost } = await import('../../host.js')
  const stopped = stopSignal(cli.terminal)
  const host = await started(createHost, served.config, cli.terminal)
  cli.terminal.note(banner(served, host.url))
  const leaving = new AbortController()
  const watching = takesUpChanges ? await takeUpChanges(served.config, host, cli.terminal) : undefined
  if (demo && mayDemonstrate(served)) void show(served.config, host.url, cli.terminal, leaving.signal)
  await stopped
  leaving.abort()
  await watching?.stop()
  await host.stop()
  cli.exit(EXIT.ok)
}

/** The host serves whether it can be shown or not. */
async function show(config: Config, url: string, terminal: Terminal, signal: AbortSignal): Promise<void> {
  try {
    const client = new AssayClient({ url, key: config.apiKey ?? (await readLocalKey(config.data)) })
    await demonstrate({ client, terminal, command: commandHere(), signal })
  } catch (error) {
    if (!signal.aborted) terminal.note(`the demonstration could not be shown: ${printable(String(error))}`)
  }
}

type CreateHost<H> = (config: Config, parts: HostParts) => Promise<H>

/** A host that listens, or the reason why there is none, in words meant for whoever started it. */
async function started<H extends { start(): Promise<void>; stop(): Promise<void> }>(
  createHost: CreateHost<H>,
  config: Config,
  terminal: Terminal,
): Promise<H> {
  const log = terminal.isLive ? prettyLog(terminal.note, config.log.level, systemClock) : undefined
  let host: H | undefined
  try {
    host = await createHost(config, { ...(log && { log }) })
    await host.start()
    return host
  } catch (error) {
    await host?.stop()
    const why = whyNotStarted(error, config)
    if (why !== undefined) throw new StartRefused(why, { cause: error })
    if (explainError(error) !== undefined || isBug(error)) throw error
    throw new StartRefused((error as Error).message, { cause: error })
  }
}

const isBug = (error: unknown): boolean =>
  !(error instanceof Error) || [TypeError, RangeError, ReferenceError, SyntaxError].some(kind => error instanceof kind)

function optionFor(setting: string): Option {
  const { schema } = SETTINGS[setting] as Setting
  const name = `--${flagOf(setting)}`
  const about = `${plainText(schema.description ?? '')} (${mustBe(schema)})`
  const option = new Option(schema.type === 'boolean' ? `${name} [yes]` : `${name} <value>`, about)
  return setting.includes('.') ? option.hideHelp() : option
}

/** Without the marks that only a page shows. */
const plainText = (markdown: string): string => markdown.replace(/`/g, '').replace(/\[([^\]]*)\]\([^)]*\)/g, '$1')

/** The flags that were given, by setting. */
function overridesFrom(command: Command): Overrides {
  const options = command.optsWithGlobals()
  const given = [...flagged, 'data'].map(setting => {
    const attribute = flagOf(setting).replace(/-(.)/g, (_, letter: string) => letter.toUpperCase())
    return [setting, options[attribute]]
  })
  return Object.fromEntries(given)
}

/** Resolves at the first SIGTERM or SIGINT; a second one ends the process at once. */
function stopSignal(terminal: Terminal): Promise<void> {
  return new Promise(resolve => {
    let asked = false
    const stop = () => {
      if (asked) process.exit(EXIT.failed)
      asked = true
      terminal.note('stopping: finishing what is in progress (once more to stop at once)')
      resolve()
    }
    process.on('SIGTERM', stop)
    process.on('SIGINT', stop)
  })
}
