import { Command, CommanderError } from 'commander'
import pc from 'picocolors'
import { packageVersion } from '../package-version.js'
import type { Cli } from './cli.js'
import { addAgents } from './commands/agents.js'
import { addChat } from './commands/chat.js'
import { addDoctor } from './commands/doctor.js'
import { addInterrupts } from './commands/interrupts.js'
import { addMemory } from './commands/journal/memory.js'
import { addWorkspace } from './commands/journal/workspace.js'
import { addKeys } from './commands/keys.js'
import { addCheck } from './commands/project/check.js'
import { addInit } from './commands/project/init.js'
import { addRun } from './commands/run.js'
import { addRuns } from './commands/runs.js'
import { addGoals } from './commands/standing/goals.js'
import { addSchedules } from './commands/standing/schedules.js'
import { addStandards } from './commands/standards.js'
import { addTenants } from './commands/tenants.js'
import { addTools } from './commands/tools.js'
import { addVerifiers } from './commands/verifiers.js'
import { addAuditTrail } from './commands/audit/trail.js'
import { addVerify } from './commands/audit/verify.js'
import { addWebhooks } from './commands/webhooks.js'
import { addWorkflows } from './commands/workflows.js'
import { addServe } from './serving/serve.js'
import { takeShortIds } from './short-ids.js'
import { EXIT, type ExitCode } from './terminal/exit-code.js'
import { explainError } from './terminal/explain.js'
import { processTerminal, type Terminal } from './terminal/terminal.js'

/** Runs one command line and resolves with the code to exit with. */
export async function main(argv: readonly string[], terminal: Terminal = processTerminal): Promise<ExitCode> {
  let exitCode: ExitCode = EXIT.ok
  const program = createProgram({
    terminal,
    exit: code => {
      exitCode = code
    },
  })
  try {
    await program.parseAsync(argv, { from: 'user' })
    return exitCode
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.ok : EXIT.refused
    const explained = explainError(error)
    if (explained === undefined) throw error
    for (const line of explained.lines) terminal.note(line)
    return explained.exitCode
  }
}

function createProgram(cli: Cli): Command {
  const program = new Command('assay')
    .description('self-hosted, durable host for verified multi-agent work')
    .version(packageVersion(), '--version', 'print the version')
    .option('--url <url>', 'server to talk to (default: the local one; ASSAY_URL)')
    .option('--key <key>', 'key to use (default: the local one; ASSAY_API_KEY)')
    .option('--data <dir>', 'data folder of the local server (default: ./.assay; ASSAY_DATA)')
    .option('--json', 'print JSON')
    .showSuggestionAfterError()
    .showHelpAfterError(pc.dim('see --help'))
    .addHelpText('after', '\nexit codes: 0 ok, 1 failed, 2 usage or refused, 3 waiting for a human')
    .configureOutput({
      writeOut: text => cli.terminal.out(text.trimEnd()),
      writeErr: text => cli.terminal.note(text.trimEnd()),
    })
    .exitOverride()
  for (const add of COMMANDS) add(program, cli)
  takeShortIds(program)
  return program
}

const COMMANDS = [
  addServe,
  addInit,
  addCheck,
  addRun,
  addChat,
  addRuns,
  addInterrupts,
  addWorkflows,
  addSchedules,
  addGoals,
  addStandards,
  addVerifiers,
  addAgents,
  addTools,
  addMemory,
  addWorkspace,
  addWebhooks,
  addKeys,
  addTenants,
  addVerify,
  addAuditTrail,
  addDoctor,
]
