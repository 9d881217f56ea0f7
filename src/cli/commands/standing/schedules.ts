import type { Command } from 'commander'
import type { AssayClient } from '../../../client/assay-client.js'
import type { ScheduleInfo } from '../../../client/wire-shapes.js'
import type { Cli } from '../../cli.js'
import { printJson, printTable, type Terminal } from '../../terminal/terminal.js'
import { UsageError } from '../../terminal/usage-error.js'
import { connect, type GlobalOptions } from '../connect.js'

const WHICH = 'its id, as `assay schedules list` shows it, or WORKFLOW/TRIGGER'

export function addSchedules(program: Command, { terminal }: Cli): void {
  const schedules = program.command('schedules').description('when workflows are run by themselves')
  schedules
    .command('list')
    .description('schedules, what they wait for, and how their latest run ended')
    .action(async (_options, command: Command) => {
      const { json, ...options } = command.optsWithGlobals<GlobalOptions>()
      const found: ScheduleInfo[] = []
      for await (const one of (await connect(options)).schedules.all()) found.push(one)
      found.sort((a, b) => (nameOf(a) < nameOf(b) ? -1 : 1))
      if (json) return printJson(terminal, { schedules: found })
      printTable(terminal, ['SCHEDULE', 'STATE', 'WHEN', 'ZONE', 'NEXT', 'RUNS', 'LATEST'], found.map(row))
    })
  addCommand(schedules, terminal, 'pause', 'let one start nothing until it is resumed', () => 'paused')
  addCommand(schedules, terminal, 'resume', 'let one go on with its first time from now on', () => 'resumed')
  addCommand(schedules, terminal, 'run', 'start a run of one now, unless one is under way', () => 'begins a run')
}

function addCommand(
  schedules: Command,
  terminal: Terminal,
  name: 'pause' | 'resume' | 'run',
  description: string,
  said: () => string,
): void {
  schedules
    .command(name)
    .description(description)
    .argument('<schedule>', WHICH)
    .action(async (which: string, _options, command: Command) => {
      const { json, ...options } = command.optsWithGlobals<GlobalOptions>()
      const client = await connect(options)
      const answer = await client.schedules[name](await idOf(client, which))
      if (json) printJson(terminal, answer)
      else terminal.out(`${nameOf(answer)} ${said()}`)
    })
}

async function idOf(client: AssayClient, which: string): Promise<string> {
  if (!which.includes('/')) return which
  for await (const one of client.schedules.all()) if (nameOf(one) === which) return one.scheduleId
  throw new UsageError(`there is no schedule ${which}; \`assay schedules list\` shows those there are`)
}

const nameOf = ({ workflowId, triggerId }: ScheduleInfo): string => `${workflowId}/${triggerId}`

const row = (one: ScheduleInfo): string[] => [
  nameOf(one),
  one.held ? `held: ${one.held.code}` : one.run ? 'running' : one.state,
  one.cron ?? `every ${one.intervalSeconds} s`,
  one.timezone ?? '',
  one.run || one.state !== 'armed' ? '' : (one.next?.dueAt ?? ''),
  String(one.runs),
  one.latest ? `${one.latest.runId} ${one.latest.outcome}` : '',
]
