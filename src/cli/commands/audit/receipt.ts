import fs from 'node:fs/promises'
import type { Command } from 'commander'
import pc from 'picocolors'
import { publicKeysIn, type TrustedKeys } from '../../../audit/signing-key.js'
import type { Json } from '../../../core/json.js'
import { MAX_RECEIPT_BYTES } from '../../../receipts/receipt.js'
import { verifyReceipt, type WantedReceipt } from '../../../receipts/verify-receipt.js'
import type { Cli } from '../../cli.js'
import { receiptLines, receiptShown } from '../../reports/receipt.js'
import { EXIT } from '../../terminal/exit-code.js'
import { printable, printJson, type Terminal } from '../../terminal/terminal.js'
import { UsageError } from '../../terminal/usage-error.js'
import { connect, type GlobalOptions } from '../connect.js'

type Options = GlobalOptions & {
  readonly out?: string
  readonly verify?: string
  readonly publicKey?: string
  readonly output?: string
}

export function addReceipt(runs: Command, cli: Cli): void {
  runs
    .command('receipt')
    .description(
      'save the signed statement of how a run has ended, or verify one; with --public-key without any server',
    )
    .argument('[runId]')
    .option('--out <file>', 'where to; - is stdout (default: RUN.receipt.json)')
    .option('--verify <file>', 'verify this receipt instead; where a run is named it must be of that run')
    .option('--public-key <file>', 'with --verify: the key, or keys, as PEM or JWK; without it, the server is asked')
    .option('--output <file>', 'with --verify: JSON that the run must have left or merged; - is stdin')
    .action(async (runId: string | undefined, _options, command: Command) => {
      const options = command.optsWithGlobals<Options>()
      if (options.verify !== undefined) return verify(cli, runId, options.verify, options)
      if (options.publicKey !== undefined || options.output !== undefined)
        throw new UsageError('--public-key and --output are for --verify')
      if (runId === undefined) throw new UsageError('name a run, or a receipt with --verify')
      return save(cli, runId, options)
    })
}

async function save({ terminal }: Cli, runId: string, options: Options): Promise<void> {
  const text = await (await connect(options)).receipts.get(runId)
  if (options.json || options.out === '-') return terminal.out(text.trimEnd())
  const file = options.out ?? `${runId}.receipt.json`
  await fs.writeFile(file, text, { mode: 0o600 })
  terminal.out(file)
}

async function verify(
  { terminal, exit }: Cli,
  runId: string | undefined,
  file: string,
  options: Options,
): Promise<void> {
  const text = await readBounded(file)
  const { keys, wanted } =
    options.publicKey === undefined
      ? await keysAsked(options)
      : { keys: await trustedKeysIn(options.publicKey), wanted: {} }
  const output = options.output === undefined ? {} : { output: await outputIn(options.output, terminal) }
  const verified = verifyReceipt(text, keys, { ...wanted, ...(runId !== undefined && { runId }), ...output })
  exit(verified.ok ? EXIT.ok : EXIT.failed)
  if (options.json) return printJson(terminal, verified.ok ? receiptShown(verified) : verified)
  if (!verified.ok) return terminal.out(`${pc.red('not verified')}: ${printable(verified.message)} [${verified.why}]`)
  for (const line of receiptLines(verified)) terminal.out(printable(line))
  terminal.out(pc.green('verified'))
}

/** No more than a receipt can have is read of a file that somebody else has made. */
export async function readBounded(file: string, most = MAX_RECEIPT_BYTES): Promise<string> {
  const opened = await fs.open(file).catch(refuse)
  try {
    const { size } = await opened.stat()
    if (size > most) throw new UsageError(`${file} has ${size} bytes, and such a statement has ${most} at most`)
    return await opened.readFile('utf8')
  } finally {
    await opened.close()
  }
}

/** The keys in a file that somebody trusts. */
export async function trustedKeysIn(file: string): Promise<TrustedKeys> {
  try {
    return publicKeysIn(file, await fs.readFile(file, 'utf8'))
  } catch (error) {
    throw new UsageError((error as Error).message)
  }
}

/** By the keys of a server, whose host and tenant it must be of. */
export async function keysAsked(
  options: GlobalOptions,
): Promise<{ readonly keys: TrustedKeys; readonly wanted: Pick<WantedReceipt, 'tenant'> }> {
  const client = await connect(options)
  const { tenant } = await client.ownKey()
  const keys = publicKeysIn('the server’s keys', JSON.stringify(await client.receipts.publicKeys()))
  return { keys, wanted: { tenant } }
}

async function outputIn(file: string, { readStdin }: Terminal): Promise<Json> {
  const text = file === '-' ? await readStdin() : await fs.readFile(file, 'utf8').catch(refuse)
  try {
    return JSON.parse(text) as Json
  } catch (error) {
    throw new UsageError(`${file} is not JSON: ${(error as Error).message}`)
  }
}

function refuse(error: Error): never {
  throw new UsageError(error.message)
}
