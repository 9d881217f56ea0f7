import path from 'node:path'
import type { Command } from 'commander'
import pc from 'picocolors'
import type { ProjectCheck } from '../../../check-project.js'
import { ConfigError, loadConfig } from '../../../config.js'
import type { Cli } from '../../cli.js'
import { EXIT } from '../../terminal/exit-code.js'
import { printable, printJson, type Terminal } from '../../terminal/terminal.js'
import type { GlobalOptions } from '../connect.js'

export function addCheck(program: Command, { terminal, exit }: Cli): void {
  program
    .command('check')
    .description('look through a whole project without serving it: exit code 1 if a host would not start with it')
    .argument('[folder]', 'the project (default: the working folder)', '.')
    .action(async (folder: string, _options, command: Command) => {
      const { json } = command.optsWithGlobals<GlobalOptions>()
      const project = path.resolve(folder)
      const found = await checked(project)
      if (json) printJson(terminal, { project, ok: found.problems.length === 0, ...found })
      else print(terminal, folder, found)
      exit(found.problems.length === 0 ? EXIT.ok : EXIT.failed)
    })
}

/** A configuration that cannot be read is a finding like any other. */
async function checked(project: string): Promise<ProjectCheck> {
  try {
    const { checkProject } = await import('../../../check-project.js')
    return await checkProject(loadConfig({ project }), { types: true })
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    return { problems: error.problems, warnings: [], checked: {} }
  }
}

function print(terminal: Terminal, folder: string, { problems, warnings, checked: counts }: ProjectCheck): void {
  for (const problem of problems) terminal.note(`${pc.red('error:')} ${printable(problem)}`)
  for (const warning of warnings) terminal.note(`${pc.yellow('warning:')} ${printable(warning)}`)
  const looked = Object.entries(counts).map(([kind, count]) => `${count} ${NAMES[kind]?.[count === 1 ? 0 : 1] ?? kind}`)
  if (problems.length === 0) terminal.out(`${folder} ok: ${looked.join(', ')}`)
}

const NAMES: { readonly [kind: string]: readonly [one: string, many: string] } = {
  workflows: ['workflow', 'workflows'],
  gate: ['gate', 'gates'],
  intent: ['intent', 'intents'],
  goal: ['goal', 'goals'],
  knowledge: ['piece of knowledge', 'pieces of knowledge'],
}
