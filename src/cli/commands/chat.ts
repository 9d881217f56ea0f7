import type { Command } from 'commander'
import type { Cli } from '../cli.js'
import { connect } from './connect.js'
import { addStartOptions, configurableOf, type StartOptions, seeThrough } from './starting.js'

type Options = StartOptions & { readonly conversation?: string }

export function addChat(program: Command, cli: Cli): void {
  const chat = program
    .command('chat')
    .description('give work to the agent that a message mentions')
    .argument('<message>', 'such as "@writer a line about rain"')
    .option('--conversation <id>', 'conversation the message belongs to')
  addStartOptions(chat).action(async (message: string, _options, command: Command) => {
    const options = command.optsWithGlobals<Options>()
    const client = await connect(options)
    const started = await client.chat(
      {
        message,
        ...(options.conversation !== undefined && { conversationId: options.conversation }),
        ...(await configurableOf(options, cli.terminal)),
      },
      options.idempotencyKey,
    )
    await seeThrough(cli, client, started, started.agentId, options)
  })
}
