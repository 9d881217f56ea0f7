import type { Command } from 'commander'
import type { WorkflowCheck } from '../../client/wire-shapes.js'
import { readDefinition } from '../../project/load-project.js'
import type { Cli } from '../cli.js'
import { printable, printJson, printTable, type Terminal } from '../terminal/terminal.js'
import { UsageError } from '../terminal/usage-error.js'
import { connect, type GlobalOptions } from './connect.js'

export function addWorkflows(program: Command, { terminal }: Cli): void {
  const workflows = program.command('workflows').description('workflow definitions')

  workflows
    .command('list')
    .description('the workflows that can be run')
    .action(async (_options, command: Command) => {
      const options = command.optsWithGlobals<GlobalOptions>()
      const answer = await (await connect(options)).listWorkflows()
      if (options.json) return printJson(terminal, answer)
      const rows = answer.workflows.map(one => [one.workflowId, one.shared ? 'project' : 'registered', one.updatedAt])
      printTable(terminal, ['WORKFLOW', 'FROM', 'UPDATED'], rows)
    })

  workflows
    .command('get')
    .description('one definition, as it was registered')
    .argument('<workflow>')
    .action(async (workflowId: string, _options, command: Command) => {
      printJson(terminal, await (await connect(command.optsWithGlobals())).getWorkflow(workflowId))
    })

  workflows
    .command('put')
    .description('register definitions from JSON or YAML files, or replace them')
    .argument('<file...>')
    .action(async (files: string[], _options, command: Command) => {
      const options = command.optsWithGlobals<GlobalOptions>()
      const client = await connect(options)
      for (const file of files) {
        const definition = await definitionFrom(file)
        const answer = await client.putWorkflow(String(definition.id), definition)
        if (options.json) printJson(terminal, answer)
        else terminal.out(`${answer.workflowId} registered`)
        printWarnings(terminal, file, answer)
      }
    })

  workflows
    .command('validate')
    .description('check definitions without registering them')
    .argument('<file...>')
    .action(async (files: string[], _options, command: Command) => {
      const options = command.optsWithGlobals<GlobalOptions>()
      const client = await connect(options)
      for (const file of files) {
        const answer = await client.checkWorkflow(await definitionFrom(file))
        if (options.json) printJson(terminal, { file, ...answer })
        else terminal.out(`${file} ok`)
        printWarnings(terminal, file, answer)
      }
    })
}

/** Beside the answer, so that a program that reads it is not disturbed. */
function printWarnings(terminal: Terminal, file: string, { warnings = [] }: Pick<WorkflowCheck, 'warnings'>): void {
  for (const warning of warnings) terminal.note(`${file}: warning: ${printable(warning)}`)
}

async function definitionFrom(file: string) {
  try {
    return await readDefinition(file)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
    throw new UsageError(`${file}: no such file`)
  }
}
