import type { Command } from 'commander'
import type { Fields } from '../../client/wire-shapes.js'
import { readStandard, STANDARD_FOLDERS, type StandardFolder } from '../../project/standards.js'
import type { Cli } from '../cli.js'
import { printJson, printTable } from '../terminal/terminal.js'
import { UsageError } from '../terminal/usage-error.js'
import { connect, type GlobalOptions } from './connect.js'

const ABOUT: { readonly [Kind in StandardFolder['kind']]: string } = {
  gate: 'gates that work must pass',
  intent: 'intents that work is measured by',
  knowledge: 'what verifiers may know besides the work',
}

export function addStandards(program: Command, cli: Cli): void {
  for (const folder of STANDARD_FOLDERS) addCollection(program, cli, folder)
}

function addCollection(program: Command, { terminal }: Cli, { kind, folder }: StandardFolder): void {
  const collection = program.command(folder).description(ABOUT[kind])

  collection
    .command('list')
    .description('those this key can see')
    .action(async (_options, command: Command) => {
      const options = command.optsWithGlobals<GlobalOptions>()
      const answer = await (await connect(options)).listStandards(folder)
      if (options.json) return printJson(terminal, answer)
      const rows = (answer[folder] ?? []).map(one => [
        one.id,
        one.title,
        String(one.version),
        one.removed ? 'project, file is gone' : one.shared ? 'project' : 'registered',
        one.updatedAt,
      ])
      printTable(terminal, [kind.toUpperCase(), 'TITLE', 'VERSION', 'FROM', 'UPDATED'], rows)
    })

  collection
    .command('show')
    .description('one document, with everything filled in that its author left out')
    .argument('<id>')
    .action(async (id: string, _options, command: Command) => {
      const options = command.optsWithGlobals<GlobalOptions>()
      const shown = await (await connect(options)).getStandard(folder, id)
      printJson(terminal, options.json ? shown : shown.document)
    })

  collection
    .command('put')
    .description(`register documents from ${kind === 'knowledge' ? 'JSON, YAML or Markdown' : 'JSON or YAML'} files`)
    .argument('<file...>')
    .action(async (files: string[], _options, command: Command) => {
      const options = command.optsWithGlobals<GlobalOptions>()
      const client = await connect(options)
      for (const file of files) {
        const answer = await client.putStandard(folder, await documentFrom(file, kind))
        if (options.json) printJson(terminal, answer)
        else terminal.out(`${answer.id} registered, version ${answer.version}`)
      }
    })

  collection
    .command('delete')
    .description('delete one; running runs keep what they started with')
    .argument('<id>')
    .action(async (id: string, _options, command: Command) => {
      const options = command.optsWithGlobals<GlobalOptions>()
      await (await connect(options)).removeStandard(folder, id)
      if (options.json) printJson(terminal, { id, deleted: true })
      else terminal.out(`${id} deleted`)
    })
}

async function documentFrom(file: string, kind: StandardFolder['kind']): Promise<Fields> {
  try {
    return await readStandard(file, kind)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
    throw new UsageError(`${file}: no such file`)
  }
}
