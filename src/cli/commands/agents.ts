import type { Command } from 'commander'
import pc from 'picocolors'
import type { AgentInfo } from '../../client/wire-shapes.js'
import type { Cli } from '../cli.js'
import { printable, printJson, printTable, type Terminal } from '../terminal/terminal.js'
import { connect, type GlobalOptions } from './connect.js'

export function addAgents(program: Command, { terminal }: Cli): void {
  const agents = program.command('agents').description('who can be given work')

  agents
    .command('list')
    .description('the agents of the server')
    .action(async (_options, command: Command) => {
      const options = command.optsWithGlobals<GlobalOptions>()
      const answer = await (await connect(options)).listAgents()
      if (options.json) return printJson(terminal, answer)
      const rows = answer.agents.map(one => [one.agentId, one.label, one.modelClass, packOf(one), lackOf(one)])
      printTable(terminal, ['AGENT', 'LABEL', 'CLASS', 'PACK', 'LACKS'], rows)
    })

  agents
    .command('show')
    .description('one agent: what it is for and what it may use')
    .argument('<agent>')
    .action(async (agentId: string, _options, command: Command) => {
      const options = command.optsWithGlobals<GlobalOptions>()
      const agent = await (await connect(options)).getAgent(agentId)
      if (options.json) printJson(terminal, agent)
      else printAgent(terminal, agent)
    })
}

const packOf = ({ packName, packVersion }: AgentInfo): string => `${packName}@${packVersion}`

const lackOf = ({ degraded = [], degradedMemoryDimensions = [] }: AgentInfo): string =>
  [...degraded, ...degradedMemoryDimensions].join(', ')

function printAgent(terminal: Terminal, agent: AgentInfo): void {
  const line = (name: string, value: string | undefined) => {
    if (value !== undefined && value !== '') terminal.out(`${pc.dim(name.padEnd(10))} ${printable(value)}`)
  }
  line('agent', agent.agentId)
  line('label', agent.label)
  line('persona', agent.persona)
  line('about', agent.description)
  line('class', agent.modelClass)
  line('pack', packOf(agent))
  line('tools', agent.toolAllowlist.join(', ') || 'none')
  line('checks', agent.hasHandoffSchemas ? 'its task, its result or both, against a schema' : 'nothing')
  if (agent.confidenceThreshold !== undefined) line('threshold', String(agent.confidenceThreshold))
  line('lacks', lackOf(agent))
  line('try', `assay run --agent ${agent.agentId} --input task=… --follow`)
}
