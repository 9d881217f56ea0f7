import type { Command } from 'commander'
import type { AssayClient } from '../../../client/assay-client.js'
import type { Cli } from '../../cli.js'
import { printJson } from '../../terminal/terminal.js'
import { UsageError } from '../../terminal/usage-error.js'
import { connect, type GlobalOptions } from '../connect.js'
import { printFiles, writeOut } from './workspace.js'

type Options = GlobalOptions & { readonly out?: string }

/** What a run gives out: files that it, or a run it had work from, has written, as they were at its end. */
export function addRunFiles(runs: Command, { terminal }: Cli): void {
  runs
    .command('files')
    .description('files that a run and its workers have written, as they were at its end; with `get PATH` one of them')
    .argument('<runId>')
    .argument('[get]', 'the word get')
    .argument('[path]', 'the file to get')
    .option('--out <file>', 'with get: where to')
    .action(async (runId: string, verb: string | undefined, path: string | undefined, _options, command: Command) => {
      const options = command.optsWithGlobals<Options>()
      if (verb !== undefined && (verb !== 'get' || path === undefined))
        throw new UsageError(`use \`assay runs files ${runId}\` or \`assay runs files ${runId} get PATH\``)
      const client = await connect(options)
      const at = `${runId}:end`
      if (path !== undefined) {
        await writeOut(terminal, client, { path, where: { at } }, options.out)
        return
      }
      const family = await familyOf(client, runId)
      const { files: all, ...more } = await client.workspace.list({ at, limit: 10_000 })
      const files = all.filter(file => file.runId !== undefined && family.has(file.runId))
      if (options.json) return printJson(terminal, { runId, files, ...more })
      printFiles(terminal, files)
      if (files.length === 0) terminal.note('this run wrote no file')
    })
}

/** The run and all who worked for it. */
async function familyOf(client: AssayClient, runId: string): Promise<ReadonlySet<string>> {
  const family = new Set<string>()
  const open = [runId]
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    if (family.has(next)) continue
    family.add(next)
    const { childRuns = [] } = await client.getRun(next)
    open.push(...childRuns.map(child => child.runId))
  }
  return family
}
