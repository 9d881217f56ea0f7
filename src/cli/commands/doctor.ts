import type { Command } from 'commander'
import pc from 'picocolors'
import { readLocalKey } from '../../client/local-key.js'
import { findServer } from '../../client/local-server.js'
import { loadClientConfig, loadConfig } from '../../config.js'
import { systemClock } from '../../system.js'
import type { Cli } from '../cli.js'
import { EXIT } from '../terminal/exit-code.js'
import { printable, printJson, type Terminal } from '../terminal/terminal.js'
import {
  checkDatabase,
  checkDataFolder,
  checkDisk,
  checkLocalKey,
  checkModels,
  checkNode,
  checkPort,
  checkServer,
  type DoctorCheck,
} from './checks.js'
import { DEFAULT_URL, type GlobalOptions } from './connect.js'

export function addDoctor(program: Command, cli: Cli): void {
  program
    .command('doctor')
    .description('look for what could keep the host from working')
    .action(async (_options, command: Command) => {
      const options = command.optsWithGlobals<GlobalOptions>()
      const checks = await examine(options)
      if (options.json) printJson(cli.terminal, { checks })
      else for (const check of checks) print(cli.terminal, check)
      cli.exit(checks.some(check => check.level === 'fail') ? EXIT.failed : EXIT.ok)
    })
}

async function examine(options: GlobalOptions): Promise<DoctorCheck[]> {
  const config = loadConfig({ data: options.data })
  const client = loadClientConfig(options)
  const server = await findServer(client.data)
  const url = client.url ?? server?.url ?? DEFAULT_URL
  return [
    checkNode(process.versions.node),
    await checkDataFolder(config.data),
    await checkDisk(config.data),
    await checkDatabase(config),
    await checkLocalKey(config),
    await checkModels(config),
    await checkPort(config, server?.url),
    ...(await checkServer(url, client.key ?? (await readLocalKey(client.data)), systemClock.now())),
  ]
}

function print(terminal: Terminal, { name, level, found, todo }: DoctorCheck): void {
  const mark = { ok: pc.green('ok  '), warn: pc.yellow('warn'), fail: pc.red('fail') }[level]
  terminal.out(`${mark}  ${name.padEnd(13)} ${printable(found)}`)
  if (todo !== undefined) terminal.out(`${' '.repeat(20)}${pc.dim('→')} ${todo}`)
}
