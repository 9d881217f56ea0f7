import path from 'node:path'
import { type Command, InvalidArgumentError } from 'commander'
import type { AssayClient } from '../../../client/assay-client.js'
import type { FileWhere } from '../../../client/journal-client.js'
import type { FileInfo } from '../../../client/wire-shapes.js'
import type { Cli } from '../../cli.js'
import { compareLines } from '../../reports/line-diff.js'
import { EXIT } from '../../terminal/exit-code.js'
import { printJson, printTable, type Terminal } from '../../terminal/terminal.js'
import { UsageError } from '../../terminal/usage-error.js'
import { connect, type GlobalOptions } from '../connect.js'
import { blobOf, readBytesOf, saveAs } from './local-file.js'
import { AT_HELP, whereOf, wordsShown } from './moment.js'

type LsOptions = GlobalOptions & { readonly at?: string }
type GetOptions = GlobalOptions & { readonly revision?: number; readonly at?: string; readonly out?: string }
type PutOptions = GlobalOptions & { readonly type?: string; readonly ifMatch?: number }
type DiffOptions = GlobalOptions & { readonly from?: number; readonly to?: number }

export function addWorkspace(program: Command, cli: Cli): void {
  const workspace = program.command('workspace').description('files that runs and people share')
  addReads(workspace, cli)
  addWrites(workspace, cli)
  addDiff(workspace, cli)
}

/** A version of a file is a number from 1; 0 stands for none. */
function versionOption(text: string): number {
  if (/^(0|[1-9]\d{0,14})$/.test(text)) return Number(text)
  throw new InvalidArgumentError('a version is a whole number such as 3; `assay workspace ls` shows them')
}

function mediaType(text: string): string {
  if (/^[\w.+-]+\/[\w.+-]+\s*(;.*)?$/.test(text)) return text
  throw new InvalidArgumentError('a type is two words with a slash between them, such as text/markdown')
}

function addReads(workspace: Command, { terminal }: Cli): void {
  workspace
    .command('ls')
    .description('files, by path')
    .argument('[prefix]', 'only paths that begin with it')
    .option('--at <RUN:SEQ>', AT_HELP)
    .action(async (prefix: string | undefined, _options, command: Command) => {
      const { json, ...options } = command.optsWithGlobals<LsOptions>()
      const query = { ...whereOf(options), ...(prefix !== undefined && { prefix }) }
      const answer = await (await connect(options)).workspace.list(query)
      if (json) return printJson(terminal, answer)
      printFiles(terminal, answer.files)
      if (answer.truncated) terminal.note('there are more; name the beginning of their paths')
    })

  workspace
    .command('get')
    .description('the content of a file, to stdout or into a file')
    .argument('<path>')
    .option('--revision <n>', 'in this version', versionOption)
    .option('--at <RUN:SEQ>', AT_HELP)
    .option('--out <file>', 'where to')
    .action(async (file: string, _options, command: Command) => {
      const options = command.optsWithGlobals<GetOptions>()
      const where = { ...whereOf(options), ...(options.revision !== undefined && { version: options.revision }) }
      await writeOut(terminal, await connect(options), { path: file, where }, options.out)
    })
}

export const printFiles = (terminal: Terminal, files: readonly FileInfo[]): void =>
  printTable(
    terminal,
    ['PATH', 'VERSION', 'BYTES', 'TYPE', 'UPDATED'],
    files.map(({ path: name, version, size, contentType, updatedAt }) => [
      name,
      String(version),
      String(size),
      contentType ?? '',
      updatedAt,
    ]),
  )

/** Into a file or a pipe as it comes; to a screen whole, and not what it cannot show. */
export async function writeOut(
  terminal: Terminal,
  { workspace }: AssayClient,
  { path: name, where }: { readonly path: string; readonly where: FileWhere },
  out?: string,
): Promise<void> {
  if (out !== undefined) {
    const bytes = await saveAs(out, await workspace.stream(name, where))
    terminal.note(`${bytes} bytes written to ${out}`)
    return
  }
  if (terminal.outBytes && !terminal.isLive) {
    for await (const chunk of await workspace.stream(name, where)) await terminal.outBytes(chunk)
    return
  }
  const bytes = await workspace.read(name, where)
  if (isBinary(bytes)) throw new UsageError(`${name} is no text; save it with --out FILE, or send it into a pipe`)
  wordsShown(terminal, Buffer.from(bytes))
}

function addWrites(workspace: Command, { terminal }: Cli): void {
  workspace
    .command('put')
    .description('write a file of the workspace; the version before stays readable')
    .argument('<path>', 'in the workspace, such as reports/may.md')
    .argument('<file>', 'what to write; - is stdin')
    .option(
      '--if-match <version>',
      'only where the file has this version now; 0: only where there is none',
      versionOption,
    )
    .option('--type <type>', 'such as text/markdown (default: by the ending of the path)', mediaType)
    .action(async (name: string, file: string, _options, command: Command) => {
      const { json, type, ifMatch, ...options } = command.optsWithGlobals<PutOptions>()
      const bytes = file === '-' ? await stdinOf(terminal) : await blobOf(file)
      const content = { bytes, contentType: type ?? (await typeOf(name, bytes)) }
      const info = await (await connect(options)).workspace.write(name, content, ifMatch)
      if (json) printJson(terminal, info)
      else terminal.out(`${info.path} version ${info.version}`)
    })

  workspace
    .command('rm')
    .description('remove a file; earlier versions stay readable by their numbers')
    .argument('<path>')
    .option('--if-match <version>', 'only where the file has this version now', versionOption)
    .action(async (name: string, _options, command: Command) => {
      const { json, ifMatch, ...options } = command.optsWithGlobals<PutOptions>()
      await (await connect(options)).workspace.remove(name, ifMatch)
      if (json) printJson(terminal, { path: name, removed: true })
      else terminal.out(`${name} removed`)
    })
}

const TYPES: { readonly [ending: string]: string } = {
  '.md': 'text/markdown',
  '.txt': 'text/plain',
  '.csv': 'text/csv',
  '.html': 'text/html',
  '.json': 'application/json',
  '.yaml': 'application/yaml',
  '.yml': 'application/yaml',
  '.pdf': 'application/pdf',
  '.png': 'image/png',
  '.jpg': 'image/jpeg',
  '.zip': 'application/zip',
}

const stdinOf = async ({ readStdin, readStdinBytes }: Terminal): Promise<Blob> =>
  new Blob([readStdinBytes ? new Uint8Array(await readStdinBytes()) : await readStdin()])

/** Where the path does not say it, what a file begins with does. */
const LOOKED_AT_BYTES = 64 * 1024

const typeOf = async (name: string, bytes: Blob): Promise<string> =>
  TYPES[path.extname(name).toLowerCase()] ?? ((await beginsAsText(bytes)) ? 'text/plain' : 'application/octet-stream')

async function beginsAsText(bytes: Blob): Promise<boolean> {
  const head = new Uint8Array(await bytes.slice(0, LOOKED_AT_BYTES).arrayBuffer())
  // Its last character may be cut.
  return !isBinary(head) || (bytes.size > head.length && [1, 2, 3].some(cut => !isBinary(head.subarray(0, -cut))))
}

export function isBinary(bytes: Uint8Array): boolean {
  if (bytes.includes(0)) return true
  try {
    new TextDecoder('utf-8', { fatal: true }).decode(bytes)
    return false
  } catch {
    return true
  }
}

function addDiff(workspace: Command, { terminal, exit }: Cli): void {
  workspace
    .command('diff')
    .description(
      'how a file of the workspace differs from one here, or one of its versions from another; exit code 1 when it does',
    )
    .argument('<path>')
    .argument('[file]', 'to compare with (default: the same path here)')
    .option('--from <version>', 'compare this version', versionOption)
    .option('--to <version>', 'with this one (default: what there is now)', versionOption)
    .action(async (name: string, file: string | undefined, _options, command: Command) => {
      const { json, from, to, ...options } = command.optsWithGlobals<DiffOptions>()
      if (file !== undefined && (from !== undefined || to !== undefined))
        throw new UsageError('compare with a file here, or two versions with --from and --to; not both')
      if (from === undefined && to !== undefined) throw new UsageError('--to needs --from: the version to compare with')
      const client = await connect(options)
      const [before, after] =
        from === undefined
          ? [await client.workspace.read(name), await readBytesOf(file ?? name)]
          : [await versionOf(client, name, from), await versionOf(client, name, to)]
      const isSame = Buffer.compare(before, after) === 0
      if (!isSame) exit(EXIT.failed)
      if (json) return printJson(terminal, { path: name, same: isSame })
      if (isSame) return terminal.note('no difference')
      if (isBinary(before) || isBinary(after)) return terminal.out(`${name} differs (no text)`)
      for (const line of compareLines(String(Buffer.from(before)), String(Buffer.from(after))))
        wordsShown(lines(terminal), Buffer.from(line))
    })
}

const versionOf = (client: AssayClient, name: string, version: number | undefined): Promise<Uint8Array> =>
  client.workspace.read(name, version === undefined ? {} : { version })

/** A report goes line by line, also into a pipe. */
const lines = ({ outBytes: _bytes, ...terminal }: Terminal): Terminal => terminal
