import type { Command } from 'commander'
import pc from 'picocolors'
import type { MemoryWhere } from '../../../client/journal-client.js'
import type { MemoryEntry, MemoryForgotten } from '../../../client/wire-shapes.js'
import type { Cli } from '../../cli.js'
import { printJson, printTable, type Terminal } from '../../terminal/terminal.js'
import { UsageError } from '../../terminal/usage-error.js'
import { connect, type GlobalOptions } from '../connect.js'
import { wholeNumber } from '../options.js'
import { AT_HELP, whereOf, wordsShown } from './moment.js'

type WhereOptions = GlobalOptions & MemoryWhere
type ListOptions = WhereOptions & { readonly ref?: string; readonly tag?: string; readonly limit: number }
type EntryOptions = WhereOptions & { readonly ref: string }
type ForgetOptions = GlobalOptions & { readonly ref: string; readonly scope: string; readonly destroy?: true }

export function addMemory(program: Command, cli: Cli): void {
  const memory = program.command('memory').description('what agents have written down for later')
  addLists(memory, cli)
  addEntries(memory, cli)
  addKeeping(memory, cli)
}

const placed = (command: Command): Command =>
  command
    .option('--scope <scope>', 'the scope to look into; `assay memory scopes` shows them')
    .option('--at <RUN:SEQ>', AT_HELP)

const filtered = (command: Command): Command =>
  placed(command)
    .option('--ref <memoryRef>', 'only entries under this reference')
    .option('--tag <tag>', 'only entries with this tag')
    .option('--limit <n>', 'at most this many', wholeNumber, 50)

function addLists(memory: Command, { terminal }: Cli): void {
  memory
    .command('scopes')
    .description('scopes that there is memory in')
    .action(async (_options, command: Command) => {
      const { json, ...options } = command.optsWithGlobals<GlobalOptions>()
      const answer = await (await connect(options)).memory.scopes({ limit: 1000 })
      if (json) return printJson(terminal, answer)
      const rows = answer.scopes.map(({ scope, entries, writes }) => [scope, String(entries), String(writes)])
      printTable(terminal, ['SCOPE', 'ENTRIES', 'WRITES'], rows)
    })

  filtered(memory.command('list').description('entries, newest first')).action(async (_options, command: Command) => {
    await printEntries(terminal, command.optsWithGlobals<ListOptions>())
  })

  filtered(memory.command('search').description('entries that have all the words, best first'))
    .argument('<words...>')
    .action(async (words: string[], _options, command: Command) => {
      if (!/[\p{L}\p{N}]/u.test(words.join(' ')))
        throw new UsageError(
          `there is no word in ${JSON.stringify(words.join(' '))} to search for; \`assay memory list\` shows all entries`,
        )
      await printEntries(terminal, command.optsWithGlobals<ListOptions>(), words.join(' '))
    })
}

async function printEntries(terminal: Terminal, options: ListOptions, q?: string): Promise<void> {
  const { json, ref, tag, limit } = options
  const filter = {
    ...memoryWhere(options),
    limit,
    ...(ref !== undefined && { ref }),
    ...(tag !== undefined && { tag }),
    ...(q !== undefined && { q }),
  }
  const answer = await (await connect(options)).memory.list(filter)
  if (json) return printJson(terminal, answer)
  const rows = answer.entries.map(entry => [
    entry.id,
    entry.memoryRef,
    entry.tags.join(','),
    entry.createdAt,
    inOneLine(entry),
  ])
  printTable(terminal, ['ENTRY', 'REF', 'TAGS', 'WRITTEN', 'CONTENT'], rows)
  if (rows.length === 0) terminal.note('no entries there; `assay memory scopes` shows where there are some')
}

/** A scope or a moment, and not both. */
function memoryWhere(options: WhereOptions): MemoryWhere {
  const { scope, at } = whereOf(options)
  if (scope !== undefined && at === undefined) return { scope }
  if (scope === undefined && at !== undefined) return { at }
  throw new UsageError(
    scope === undefined
      ? 'say where to look: --scope NAME (`assay memory scopes` shows them), or --at RUN:SEQ for what a run saw'
      : '--scope and --at do not go together: at a moment of a run its own scope is looked into',
  )
}

const SHOWN = 60

function inOneLine({ content }: MemoryEntry): string {
  if (content === null) return pc.dim('(destroyed)')
  const line = content.replace(/\s+/gu, ' ')
  return line.length > SHOWN ? `${line.slice(0, SHOWN)}…` : line
}

function addEntries(memory: Command, { terminal }: Cli): void {
  placed(memory.command('get').description('one entry, complete').argument('<id>'))
    .requiredOption('--ref <memoryRef>', 'the reference it is kept under')
    .action(async (id: string, _options, command: Command) => {
      const options = command.optsWithGlobals<EntryOptions>()
      const found = await (await connect(options)).memory.get(id, options.ref, memoryWhere(options))
      if (options.json) return printJson(terminal, found)
      const { runId, sequence, tags, createdAt, expiresAt, content } = found
      const by = runId === undefined ? '' : ` by ${runId}:${sequence}`
      const until = expiresAt === undefined ? '' : `, until ${expiresAt}`
      terminal.note(pc.dim(`written ${createdAt}${by}${until}${tags.length > 0 ? `, tags ${tags.join(',')}` : ''}`))
      if (content === null) terminal.note('its content was destroyed')
      else wordsShown(terminal, Buffer.from(content))
    })

  memory
    .command('forget')
    .description('have an entry forgotten; says how many runs hold a copy, and what removes those')
    .argument('<id>')
    .requiredOption('--ref <memoryRef>', 'the reference it is kept under')
    .requiredOption('--scope <scope>', 'the scope it is in')
    .option('--destroy', 'destroy the content of all its versions, for runs that began before and for forks, too')
    .action(async (id: string, _options, command: Command) => {
      const { json, ref, scope, destroy, ...options } = command.optsWithGlobals<ForgetOptions>()
      const answer = await (await connect(options)).memory.forget(id, ref, scope, { destroy: destroy === true })
      if (json) printJson(terminal, answer)
      else printForgotten(terminal, answer)
    })
}

function printForgotten(terminal: Terminal, { id, destroyedVersions, copies, note }: MemoryForgotten): void {
  terminal.out(
    `${id} forgotten${destroyedVersions > 0 ? `, ${destroyedVersions} ${destroyedVersions === 1 ? 'version' : 'versions'} destroyed` : ''}`,
  )
  const { runs, runIds } = copies
  const named = runIds.length > 0 ? `: ${runIds.join(', ')}${runs > runIds.length ? ', …' : ''}` : ''
  terminal.note(`${runs} ${runs === 1 ? 'run holds' : 'runs hold'} a copy${named}`)
  terminal.note(pc.dim(note))
}

function addKeeping(memory: Command, { terminal }: Cli): void {
  memory
    .command('consolidate')
    .description('of entries that say the same under the same tags keep one; the same again changes nothing')
    .argument('<memoryRef>')
    .requiredOption('--scope <scope>', 'the scope they are in')
    .action(async (memoryRef: string, _options, command: Command) => {
      const { json, scope, ...options } = command.optsWithGlobals<GlobalOptions & { readonly scope: string }>()
      const answer = await (await connect(options)).memory.consolidate(scope, memoryRef)
      if (json) return printJson(terminal, answer)
      terminal.out(`${answer.inputCount} ${answer.inputCount === 1 ? 'entry' : 'entries'}, ${answer.outputCount} kept`)
      for (const id of answer.mergedIds) terminal.note(`${id} said what another says`)
      for (const id of answer.redactedIds) terminal.note(`${id} was stored anew without a secret`)
    })
}
