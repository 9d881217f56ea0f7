import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { type Command, Option } from 'commander'
import pc from 'picocolors'
import { localKeyFile } from '../../client/local-key.js'
import { type Config, loadConfig, type Overrides } from '../../config.js'
import { mustBe } from '../../core/schema/words.js'
import { flagOf, SETTINGS, type Setting } from '../../project/settings.js'
import type { Cli } from '../cli.js'
import { EXIT } from '../terminal/exit-code.js'
import { explainError, StartRefused } from '../terminal/explain.js'
import type { Terminal } from '../terminal/terminal.js'

/** Settings without a flag of their own here: `data` is global, and a key on a command line would be seen by others. */
const NO_FLAG = new Set(['data', 'apiKey', 'dataKey'])
const flagged = Object.keys(SETTINGS).filter(setting => !NO_FLAG.has(setting))

export function addServe(program: Command, cli: Cli): void {
  const serve = program.command('serve').description('run the host until it is told to stop')
  for (const setting of flagged) serve.addOption(optionFor(setting))
  serve.action(async (_options, command: Command) => {
    const config = withProject(loadConfig(overridesFrom(command)))
    const { createHost } = await import('../../host.js')
    const stopped = stopSignal(cli.terminal)
    const host = await started(createHost, config)
    cli.terminal.note(banner(config, host.url))
    await stopped
    await host.stop()
    cli.exit(EXIT.ok)
  })
}

/** A host that listens, or the reason why there is none, in words meant for whoever started it. */
async function started<H extends { start(): Promise<void>; stop(): Promise<void> }>(
  createHost: (config: Config) => Promise<H>,
  config: Config,
): Promise<H> {
  let host: H | undefined
  try {
    host = await createHost(config)
    await host.start()
    return host
  } catch (error) {
    await host?.stop()
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

/** Without a project the host serves the examples, so that there is something to run. */
const withProject = (config: Config): Config =>
  config.project === undefined
    ? { ...config, project: examples, agents: { ...config.agents, project: examples } }
    : config
const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '../../..')
const examples = path.join(root, 'examples/hello')

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

function banner(config: Config, url: string): string {
  const { database } = config
  const stored =
    database.kind === 'sqlite' ? database.file : database.kind === 'postgres' ? 'PostgreSQL' : 'memory only'
  const key = config.apiKey === undefined ? `in ${localKeyFile(config.data)}` : 'from ASSAY_API_KEY'
  const line = (name: string, value: string) => `  ${pc.dim(name.padEnd(9))} ${value}`
  return [
    `${pc.bold('assay')} is serving at ${pc.cyan(url)}`,
    line('data', config.data),
    line('database', stored),
    line('workflows', workflowsOf(config)),
    line('model', modelOf(config)),
    line('key', key),
    line('try', `${commandHere()} ${config.project === examples ? 'run hello --wait' : 'workflows list'}`),
  ].join('\n')
}

function workflowsOf({ project }: Config): string {
  if (project === undefined) return 'none'
  const folder = path.join(project, 'workflows')
  return project === examples ? `${folder} (examples; --project FOLDER serves yours)` : folder
}

/** What to type in this folder to get this very program: the file of a clone, or what an installation offers. */
function commandHere(): string {
  const [folder, installed] = root.split(`${path.sep}node_modules${path.sep}`)
  if (installed === undefined) return path.relative('', path.join(root, 'bin/assay'))
  const isInstalledHere = !path.relative(folder as string, process.cwd()).startsWith('..')
  return isInstalledHere ? 'npx assay' : 'assay'
}

function modelOf({ agents }: Config): string {
  const { provider, model } = agents.models.worker
  return agents.models.providers[provider]?.kind === 'scripted'
    ? 'scripted: offline, for trying things out'
    : `${provider}:${model}`
}
