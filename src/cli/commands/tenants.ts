import { setTimeout as delay } from 'node:timers/promises'
import type { Command } from 'commander'
import pc from 'picocolors'
import type { Tenant } from '../../client/wire-shapes.js'
import type { Cli } from '../cli.js'
import { printJson, type Terminal } from '../terminal/terminal.js'
import { UsageError } from '../terminal/usage-error.js'
import { connect, type GlobalOptions } from './connect.js'

type EraseOptions = GlobalOptions & { readonly yes?: true }

const LOOK_MS = 250

export function addTenants(program: Command, { terminal }: Cli): void {
  const tenants = program.command('tenants').description('tenants as a whole; takes a key with tenants:manage')

  tenants
    .command('show')
    .description('whether a tenant is active, being erased or erased')
    .argument('<name>')
    .action(async (name: string, _options, command: Command) => {
      const options = command.optsWithGlobals<GlobalOptions>()
      report(terminal, await (await connect(options)).getTenant(name), options)
    })

  tenants
    .command('erase')
    .description('destroy the keys of a tenant and delete its content, live and test; ids, times and digests stay')
    .argument('<name>')
    .option('--yes', 'really: what is erased cannot be brought back')
    .action(async (name: string, _options, command: Command) => {
      const options = command.optsWithGlobals<EraseOptions>()
      if (!options.yes)
        throw new UsageError(`everything that tenant "${name}" has would be gone for good; say so with --yes`)
      const client = await connect(options)
      let found = await client.eraseTenant(name)
      if (found.state === 'erasing' && !options.json) terminal.note(pc.dim('its keys are destroyed; deleting content…'))
      while (found.state === 'erasing') {
        await delay(LOOK_MS)
        found = await client.getTenant(name)
      }
      report(terminal, found, options)
    })
}

function report(terminal: Terminal, found: Tenant, { json }: GlobalOptions): void {
  if (json) return printJson(terminal, found)
  const { tenant, state, askedAt, erasedAt } = found
  const when = erasedAt ?? askedAt
  terminal.out(`${tenant} ${state}${when === undefined ? '' : ` since ${when}`}`)
}
