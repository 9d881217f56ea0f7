import type { Command } from 'commander'
import pc from 'picocolors'
import type { Cli } from '../cli.js'
import { printable, printJson } from '../terminal/terminal.js'
import { connect, type GlobalOptions } from './connect.js'
import { wholeNumber } from './options.js'

export function addWithheld(runs: Command, { terminal }: Cli): void {
  runs
    .command('withheld')
    .description('what the log of a run keeps from its readers; needs the scope artifacts:read')
    .argument('<runId>')
    .option('--from <sequence>', 'from this event on', wholeNumber, 0)
    .action(async (runId: string, _options, command: Command) => {
      const { json, from, ...options } = command.optsWithGlobals<GlobalOptions & { readonly from: number }>()
      const page = await (await connect(options)).listWithheld(runId, from)
      if (json) return printJson(terminal, page)
      if (page.withheld.length === 0) terminal.note('nothing is withheld in this run')
      for (const { sequence, type, nodeId, content } of page.withheld) {
        terminal.out(printable(`${sequence} ${type}${nodeId === undefined ? '' : ` ${nodeId}`}`))
        for (const line of JSON.stringify(content, null, 2).split('\n')) terminal.out(printable(line))
      }
      if (page.next !== null) terminal.note(pc.dim(`more: --from ${page.next}`))
    })
}
