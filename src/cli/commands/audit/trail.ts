import type { Command } from 'commander'
import pc from 'picocolors'
import type { Cli } from '../../cli.js'
import { EXIT } from '../../terminal/exit-code.js'
import { printJson, printTable } from '../../terminal/terminal.js'
import { connect, type GlobalOptions } from '../connect.js'
import { wholeNumber } from '../options.js'

type ListOptions = GlobalOptions & { readonly before?: number; readonly limit: number }

export function addAuditTrail(program: Command, { terminal, exit }: Cli): void {
  program
    .command('audit')
    .description('who did what: reads of transcripts and artifacts, keys, overrides, purges, erasures')
    .command('list')
    .description('the audit trail of your tenant, newest first; needs the scope audit:read')
    .option('--before <n>', 'only records before this one', wholeNumber)
    .option('--limit <n>', 'at most this many', wholeNumber, 50)
    .action(async (_options, command: Command) => {
      const { json, before, limit, ...options } = command.optsWithGlobals<ListOptions>()
      const page = await (await connect(options)).transcripts.auditTrail({ before, limit })
      if (json) printJson(terminal, page)
      else {
        const rows = page.records.map(({ seq, timestamp, principal, credential, action, object, outcome }) => [
          String(seq),
          timestamp,
          principal,
          credential,
          action,
          object,
          outcome,
        ])
        printTable(terminal, ['N', 'WHEN', 'WHO', 'BY', 'WHAT', 'OBJECT', 'OUTCOME'], rows)
        if (page.next !== null) terminal.note(pc.dim(`more: --before ${page.next}`))
      }
      if (page.chainValid) return
      terminal.note('a record of the trail is not as it was written, or one is missing')
      exit(EXIT.failed)
    })
}
