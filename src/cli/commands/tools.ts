import type { Command } from 'commander'
import type { Cli } from '../cli.js'
import { printable, printJson, printTable } from '../terminal/terminal.js'
import { connect, type GlobalOptions } from './connect.js'

export function addTools(program: Command, { terminal }: Cli): void {
  const tools = program.command('tools').description('what agents can be allowed to call')

  tools
    .command('list')
    .description('the tools of the server; agents name them in their toolAllowlist')
    .action(async (_options, command: Command) => {
      const options = command.optsWithGlobals<GlobalOptions>()
      const answer = await (await connect(options)).listTools()
      if (options.json) return printJson(terminal, answer)
      const rows = answer.tools.map(({ toolId, source, safetyTier, auth, description = '' }) => [
        toolId,
        source,
        safetyTier,
        auth?.scopes?.join(', ') ?? '',
        firstLine(description),
      ])
      printTable(terminal, ['TOOL', 'FROM', 'MAY', 'NEEDS', 'ABOUT'], rows)
    })

  tools
    .command('servers')
    .description('MCP servers, and the end of what they wrote to stderr; needs transcripts:read and tenants:manage')
    .action(async (_options, command: Command) => {
      const options = command.optsWithGlobals<GlobalOptions>()
      const answer = await (await connect(options)).transcripts.toolServers()
      if (options.json) return printJson(terminal, answer)
      if (answer.servers.length === 0) terminal.note('no MCP server is configured; see docs/guides/tools.md')
      for (const { name, transport, problem = 'can be used', stderr } of answer.servers) {
        terminal.out(printable(`${name} (${transport}): ${problem}`))
        const lines = stderr === undefined ? [] : stderr.tail.trimEnd().split('\n')
        for (const line of lines) terminal.out(printable(`    ${line}`))
      }
    })

  tools
    .command('show')
    .description('one tool, with the schema of its arguments')
    .argument('<tool>')
    .action(async (toolId: string, _options, command: Command) => {
      printJson(terminal, await (await connect(command.optsWithGlobals())).getTool(toolId))
    })
}

const SHOWN = 72

function firstLine(text: string): string {
  const [line = ''] = text.trim().split('\n')
  return line.length > SHOWN ? `${line.slice(0, SHOWN - 1)}…` : line
}
