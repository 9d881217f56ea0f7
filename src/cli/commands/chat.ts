import type { Command } from 'commander'
import pc from 'picocolors'
import type { AssayClient } from '../../client/assay-client.js'
import type { ChatStarted } from '../../client/wire-shapes.js'
import { systemIds } from '../../system.js'
import type { Cli } from '../cli.js'
import { followRun, leaving, watchRun } from '../progress/watch.js'
import { EXIT, type ExitCode, exitCodeOf, hasGivenUp } from '../terminal/exit-code.js'
import { printable, type Terminal } from '../terminal/terminal.js'
import { connect } from './connect.js'
import { addStartOptions, configurableOf, type StartOptions, seeThrough } from './starting.js'

type Options = StartOptions & { readonly conversation?: string; readonly detach?: true }

export function addChat(program: Command, cli: Cli): void {
  const chat = program
    .command('chat')
    .description('give work to the agent that a message mentions, print its answer, and at a terminal go on talking')
    .argument('<message>', 'such as "@writer a line about rain"')
    .option('--conversation <id>', 'conversation the message belongs to')
    .option('--detach', 'print the id of the run and wait for nothing')
  addStartOptions(chat).action(async (message: string, _options, command: Command) => {
    const options = command.optsWithGlobals<Options>()
    const { terminal } = cli
    const client = await connect(options)
    const isTalk = !options.wait && !options.follow && !options.json && !options.detach
    // What is said at a terminal belongs together.
    const own = isTalk && terminal.converse !== undefined ? systemIds.unique() : undefined
    const conversationId = options.conversation ?? own
    const configurable = await configurableOf(options, terminal)
    const send = (said: string, key?: string) =>
      client.chat({ message: said, ...(conversationId !== undefined && { conversationId }), ...configurable }, key)
    const started = await send(message, options.idempotencyKey)
    if (!isTalk) return seeThrough(cli, client, started, started.agentId, options)
    cli.exit(await talk(terminal, client, started, said => send(said)))
  })
}

/** Answer by answer, until the person leaves or says nothing; what went wrong ends it. */
async function talk(
  terminal: Terminal,
  client: AssayClient,
  first: ChatStarted,
  send: (message: string) => Promise<ChatStarted>,
): Promise<ExitCode> {
  for (let started = first; ; ) {
    const exit = await answer(terminal, client, started)
    if (exit !== EXIT.ok || terminal.converse === undefined) return exit
    const person = terminal.converse()
    const said = await person.ask(pc.dim(`@${started.agentId} > `)).finally(() => person.end())
    if (said === undefined || said.trim() === '') return EXIT.ok
    started = await send(said.startsWith('@') ? said : `@${started.agentId} ${said}`)
  }
}

async function answer(terminal: Terminal, client: AssayClient, { runId, agentId }: ChatStarted): Promise<ExitCode> {
  const view = { title: `${agentId} ${runId}`, quiet: true, json: false }
  const { run, progress } = await leaving(terminal, runId, () => followRun(terminal, client, runId, view))
  if (run.status !== 'completed' || hasGivenUp(run)) return watchRun(terminal, client, runId, view)
  const { outputs = {} } = progress
  const { result = outputs } = outputs
  const text = typeof result === 'string' ? result : JSON.stringify(result, null, 2)
  for (const line of text.split('\n')) terminal.out(printable(line))
  return exitCodeOf(run)
}
