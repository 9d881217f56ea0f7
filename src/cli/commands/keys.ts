import type { Command } from 'commander'
import pc from 'picocolors'
import type { NewKey } from '../../client/wire-shapes.js'
import { loadClientConfig } from '../../config.js'
import { linkSecretsFile, rotateLinkSecrets } from '../../link-secrets.js'
import type { Scope } from '../../wire/key.js'
import type { Cli } from '../cli.js'
import { printJson, printTable } from '../terminal/terminal.js'
import { UsageError } from '../terminal/usage-error.js'
import { connect, type GlobalOptions } from './connect.js'

type CreateOptions = GlobalOptions & {
  readonly tenant?: string
  readonly principal?: string
  readonly scopes: string
  readonly test?: true
  readonly expires?: string
}

/** Enough to register and run workflows; not to make further keys. */
const USUAL_SCOPES = 'manifest:read,runs:create,runs:read,runs:cancel,artifacts:read,workflows:write'

export function addKeys(program: Command, { terminal }: Cli): void {
  const keys = program.command('keys').description('keys that open the server')

  keys
    .command('create')
    .description('make a key; it is shown once and kept only as a hash')
    .option('--tenant <name>', 'tenant it belongs to (default: that of your own key)')
    .option('--principal <name>', 'who will use it, for the log')
    .option('--scopes <list>', 'comma-separated scopes, or "all"', USUAL_SCOPES)
    .option('--test', 'a test key')
    .option('--expires <time>', 'ISO 8601 time after which it no longer works')
    .action(async (_options, command: Command) => {
      const { json, tenant, principal, scopes, test, expires, ...options } = command.optsWithGlobals<CreateOptions>()
      const request: NewKey = {
        scopes: await scopeList(scopes),
        ...(tenant !== undefined && { tenant }),
        ...(principal !== undefined && { principal }),
        ...(test && { test }),
        ...(expires !== undefined && { expiresAt: expires }),
      }
      const created = await (await connect(options)).createKey(request)
      if (json) return printJson(terminal, created)
      terminal.out(created.key ?? '')
      terminal.note(pc.dim(`key ${created.keyId}, tenant ${created.tenant}; it is not shown again`))
    })

  keys
    .command('rotate-links')
    .description('sign new interrupt links with a new secret; a running server takes it up at its next start')
    .action(async (_options, command: Command) => {
      const { data } = loadClientConfig(command.optsWithGlobals<GlobalOptions>())
      await rotateLinkSecrets(data)
      terminal.out(`new secret in ${linkSecretsFile(data)}; links made before stay valid until they expire`)
    })

  keys
    .command('list')
    .description('keys, without the keys themselves')
    .action(async (_options, command: Command) => {
      const options = command.optsWithGlobals<GlobalOptions>()
      const answer = await (await connect(options)).listKeys()
      if (options.json) return printJson(terminal, answer)
      const every = (await allScopes()).length
      const rows = answer.keys.map(key => [
        key.keyId,
        key.tenant,
        key.principal,
        key.revokedAt ? 'revoked' : 'valid',
        key.expiresAt ?? '',
        key.scopes.length === every ? 'all' : key.scopes.join(','),
      ])
      printTable(terminal, ['KEY', 'TENANT', 'PRINCIPAL', 'STATE', 'EXPIRES', 'SCOPES'], rows)
    })

  keys
    .command('revoke')
    .description('make a key useless at once')
    .argument('<keyId>')
    .action(async (keyId: string, _options, command: Command) => {
      const options = command.optsWithGlobals<GlobalOptions>()
      const answer = await (await connect(options)).revokeKey(keyId)
      if (options.json) printJson(terminal, answer ?? { keyId, revoked: true })
      else terminal.out(`${keyId} revoked`)
    })
}

/** Loaded when asked for: the wire's schemas would slow down every other command. */
const allScopes = async (): Promise<readonly Scope[]> => (await import('../../wire/key.js')).SCOPES

async function scopeList(text: string): Promise<Scope[]> {
  const known = await allScopes()
  if (text === 'all') return [...known]
  return text.split(',').map(name => {
    const scope = known.find(one => one === name.trim())
    if (scope === undefined)
      throw new UsageError(`${JSON.stringify(name)} is not a scope; they are ${known.join(', ')}`)
    return scope
  })
}
