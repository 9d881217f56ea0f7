import fs from 'node:fs/promises'
import type { Command } from 'commander'
import pc from 'picocolors'
import type { AssayClient } from '../../../client/assay-client.js'
import { type GoalCertificate, MAX_CERTIFICATE_BYTES } from '../../../receipts/goal-certificate.js'
import { verifyCertificate } from '../../../receipts/verify-certificate.js'
import type { Cli } from '../../cli.js'
import { EXIT } from '../../terminal/exit-code.js'
import { printable, printJson } from '../../terminal/terminal.js'
import { UsageError } from '../../terminal/usage-error.js'
import { keysAsked, readBounded, trustedKeysIn } from '../audit/receipt.js'
import { connect, type GlobalOptions } from '../connect.js'

type Options = GlobalOptions & { readonly out?: string; readonly verify?: string; readonly publicKey?: string }
type IdOf = (client: AssayClient, which: string) => Promise<string>

export function addCertificate(goals: Command, cli: Cli, idOf: IdOf): void {
  goals
    .command('certificate')
    .description(
      'save the signed statement of what is still possible for one at worst, or verify one; with --public-key without any server',
    )
    .argument('[goal]')
    .option('--out <file>', 'where to; - is stdout (default: GOAL.certificate.json)')
    .option('--verify <file>', 'verify this certificate instead; where a goal is named it must be of that goal')
    .option('--public-key <file>', 'with --verify: the key, or keys, as PEM or JWK; without it, the server is asked')
    .action(async (which: string | undefined, _options, command: Command) => {
      const options = command.optsWithGlobals<Options>()
      if (options.verify !== undefined) return verify(cli, which, options.verify, options)
      if (options.publicKey !== undefined) throw new UsageError('--public-key is for --verify')
      if (which === undefined) throw new UsageError('name a goal, or a certificate with --verify')
      return save(cli, which, options, idOf)
    })
}

async function save({ terminal }: Cli, which: string, options: Options, idOf: IdOf): Promise<void> {
  const client = await connect(options)
  const goalId = await idOf(client, which)
  const text = await client.goals.certificate(goalId)
  if (options.json || options.out === '-') return terminal.out(text.trimEnd())
  const file = options.out ?? `${goalId}.certificate.json`
  await fs.writeFile(file, text, { mode: 0o600 })
  terminal.out(file)
}

async function verify({ terminal, exit }: Cli, goalId: string | undefined, file: string, options: Options) {
  const text = await readBounded(file, MAX_CERTIFICATE_BYTES)
  const { keys, wanted } =
    options.publicKey === undefined
      ? await keysAsked(options)
      : { keys: await trustedKeysIn(options.publicKey), wanted: {} }
  const verified = verifyCertificate(text, keys, { ...wanted, ...(goalId !== undefined && { goalId }) })
  exit(verified.ok ? EXIT.ok : EXIT.failed)
  if (options.json) return printJson(terminal, verified)
  if (!verified.ok) return terminal.out(`${pc.red('not verified')}: ${printable(verified.message)} [${verified.why}]`)
  for (const line of certificateLines(verified.certificate)) terminal.out(printable(line))
  terminal.out(pc.green('verified'))
}

function certificateLines({ goal, bounds, used, open, possible, issuer }: GoalCertificate): string[] {
  const { maxLoopIterations, maxCostNanoUsd, deadline } = bounds
  const money =
    maxCostNanoUsd === undefined
      ? dollars(used.costNanoUsd)
      : `${dollars(used.costNanoUsd)} of ${dollars(maxCostNanoUsd)}`
  return [
    `goal      ${goal.goalId}, ${goal.state}${goal.closedAt === undefined ? '' : ` since ${goal.closedAt}`}`,
    `used      ${used.runs}${maxLoopIterations === undefined ? '' : ` of ${maxLoopIterations}`} runs, ${money}`,
    `open      ${open.length === 0 ? 'nothing' : open.map(({ runId }) => runId).join(', ')}`,
    `possible  ${possible.runs} more runs, ${possible.costNanoUsd === null ? 'any money' : `${dollars(possible.costNanoUsd)} more`}, begun ${possible.beginsUntil === null ? 'at any time' : `before ${possible.beginsUntil}`}`,
    `deadline  ${deadline ?? 'none'}`,
    `said by   ${issuer.hostId} at ${issuer.issuedAt}`,
  ]
}

const dollars = (nano: number): string => `$${(nano / 1e9).toFixed(4)}`
