import type { Command } from 'commander'
import pc from 'picocolors'
import type { Cli } from '../cli.js'
import { transcriptLines } from '../reports/transcript.js'
import { printable, printJson } from '../terminal/terminal.js'
import { connect, type GlobalOptions } from './connect.js'
import { wholeNumber } from './options.js'

export function addTranscript(runs: Command, { terminal }: Cli): void {
  runs
    .command('transcript')
    .description('what the agents of a run were told and have said; needs the scope transcripts:read')
    .argument('<runId>')
    .argument('[node]', 'only what belongs to this node')
    .option('--from <sequence>', 'from this event on', wholeNumber, 0)
    .action(async (runId: string, nodeId: string | undefined, _options, command: Command) => {
      const { json, from, ...options } = command.optsWithGlobals<GlobalOptions & { readonly from: number }>()
      const page = await (await connect(options)).transcripts.read(runId, { nodeId, from })
      if (json) return printJson(terminal, page)
      if (page.entries.length === 0) terminal.note('no agent has been asked anything here')
      for (const entry of page.entries) for (const line of transcriptLines(entry)) terminal.out(printable(line))
      if (page.next !== null) terminal.note(pc.dim(`more: --from ${page.next}`))
    })
}
