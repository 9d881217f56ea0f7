import path from 'node:path'
import { type Command, Option } from 'commander'
import type { AssayClient } from '../../../client/assay-client.js'
import type { GoalInfo, NewGoalDocument } from '../../../client/wire-shapes.js'
import { readDocument } from '../../../project/document.js'
import type { Cli } from '../../cli.js'
import { exitCodeOfGoal, goalLines, iterationLine } from '../../reports/goal.js'
import { printJson, printTable, type Terminal } from '../../terminal/terminal.js'
import { UsageError } from '../../terminal/usage-error.js'
import { connect, type GlobalOptions } from '../connect.js'
import { addCertificate } from './goal-certificate.js'

const WHICH = 'its id, as `assay goals list` shows it, or @last'
const STATES = ['active', 'satisfied', 'escalated', 'abandoned', 'bound-exceeded']

export function addGoals(program: Command, cli: Cli): void {
  const goals = program.command('goals').description('objectives that are worked on until a judge is satisfied')
  addCreate(goals, cli)
  addList(goals, cli)
  addGet(goals, cli)
  addWatch(goals, cli)
  addCommand(goals, cli, 'pause', 'let one start nothing until it is resumed', 'paused')
  addCommand(goals, cli, 'resume', 'let one go on, also after it has escalated', 'resumed')
  addCommand(goals, cli, 'abandon', 'close one for good', 'abandoned')
  addCommand(goals, cli, 'run', 'start one contributing run now', 'begins a run')
  addCertificate(goals, cli, idOf)
}

function addCreate(goals: Command, { terminal }: Cli): void {
  goals
    .command('create')
    .description('make one of a file, as those in goals/ of a project are')
    .argument('<file>', 'JSON or YAML')
    .action(async (file: string, _options, command: Command) => {
      const { json, ...options } = command.optsWithGlobals<GlobalOptions>()
      const document = (await readDocument(path.resolve(file))) as NewGoalDocument
      const goal = await (await connect(options)).goals.create(document)
      if (json) printJson(terminal, goal)
      else terminal.out(`${goal.id} made`)
    })
}

function addList(goals: Command, { terminal }: Cli): void {
  goals
    .command('list')
    .description('goals, the newest first')
    .addOption(new Option('--state <state>', 'only those in this state').choices(STATES))
    .action(async (_options, command: Command) => {
      const { json, state, ...options } = command.optsWithGlobals<GlobalOptions & { state?: GoalInfo['state'] }>()
      const found: GoalInfo[] = []
      for await (const one of (await connect(options)).goals.all(state === undefined ? {} : { state })) found.push(one)
      found.sort((a, b) => (a.createdAt > b.createdAt ? -1 : 1))
      if (json) return printJson(terminal, { goals: found })
      const rows = found.map(({ id, state, continuation, progress, bounds, objective }) => [
        id,
        state,
        continuation.mode,
        `${progress.iterations}${bounds.maxLoopIterations === undefined ? '' : `/${bounds.maxLoopIterations}`}`,
        shortened(objective),
      ])
      printTable(terminal, ['GOAL', 'STATE', 'BY', 'RUNS', 'OBJECTIVE'], rows)
    })
}

const shortened = (text: string): string => {
  const [line = ''] = text.split('\n')
  return line.length > 60 ? `${line.slice(0, 59)}…` : line
}

function addGet(goals: Command, { terminal }: Cli): void {
  goals
    .command('get')
    .description('one, with what is reserved and left, what it waits for, and its best attempt')
    .argument('<goal>', WHICH)
    .action(async (which: string, _options, command: Command) => {
      const { json, ...options } = command.optsWithGlobals<GlobalOptions>()
      const client = await connect(options)
      const goalId = await idOf(client, which)
      const [goal, details] = await Promise.all([client.goals.get(goalId), client.goals.details(goalId)])
      if (json) return printJson(terminal, { goal, details })
      for (const line of goalLines(goal, details)) terminal.out(line)
    })
}

/** A line for how it stands, one for each iteration from then on, and one for how it came to an end. */
function addWatch(goals: Command, { terminal, exit }: Cli): void {
  goals
    .command('watch')
    .description(
      'one line per iteration, until it is over: exit code 0 if it is satisfied, 3 if it escalated or is paused, else 1',
    )
    .argument('<goal>', WHICH)
    .action(async (which: string, _options, command: Command) => {
      const { json = false, ...options } = command.optsWithGlobals<GlobalOptions>()
      const client = await connect(options)
      const goalId = await idOf(client, which)
      let after = (await client.goals.events(goalId)).lastEventSeq
      let code = await shown(client, goalId, terminal, json)
      while (code === undefined) {
        for await (const { sequence, type } of client.goals.follow(goalId, { after })) {
          after = sequence
          if (!TELLING.has(type)) continue
          code = await shown(client, goalId, terminal, json)
          if (code !== undefined) break
        }
        code ??= exitCodeOfGoal(await client.goals.get(goalId), await client.goals.details(goalId))
      }
      exit(code)
    })
}

const TELLING = new Set(['goal.evaluated', 'goal.closed', 'assay.goal.paused'])

/** How it stands now, in one line; a code to exit with where nothing more is to be waited for. */
async function shown(client: AssayClient, goalId: string, terminal: Terminal, json: boolean) {
  const [goal, details] = await Promise.all([client.goals.get(goalId), client.goals.details(goalId)])
  terminal.out(json ? JSON.stringify({ goal, details }) : iterationLine(goal, details))
  return exitCodeOfGoal(goal, details)
}

function addCommand(
  goals: Command,
  { terminal }: Cli,
  name: 'pause' | 'resume' | 'abandon' | 'run',
  description: string,
  said: string,
): void {
  goals
    .command(name)
    .description(description)
    .argument('<goal>', WHICH)
    .action(async (which: string, _options, command: Command) => {
      const { json, ...options } = command.optsWithGlobals<GlobalOptions>()
      const client = await connect(options)
      const goal = await client.goals[name](await idOf(client, which))
      if (json) printJson(terminal, goal)
      else terminal.out(`${goal.id} ${said}`)
    })
}

async function idOf(client: AssayClient, which: string): Promise<string> {
  if (which !== '@last') return which
  let last: GoalInfo | undefined
  for await (const one of client.goals.all()) if (last === undefined || one.createdAt > last.createdAt) last = one
  if (last) return last.id
  throw new UsageError('there is no goal yet, so @last is none; make one with `assay goals create`')
}
