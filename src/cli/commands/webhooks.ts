import type { Command } from 'commander'
import pc from 'picocolors'
import type { Cli } from '../cli.js'
import { printJson, printTable } from '../terminal/terminal.js'
import { connect, type GlobalOptions } from './connect.js'
import { collectOption, wholeNumber } from './options.js'

export function addWebhooks(program: Command, cli: Cli): void {
  const webhooks = program.command('webhooks').description('who is told of events')
  addSubscriptions(webhooks, cli)
  addDeliveries(webhooks, cli)
}

type AddOptions = GlobalOptions & { readonly event: readonly string[]; readonly tag: readonly string[] }

function addSubscriptions(webhooks: Command, { terminal }: Cli): void {
  webhooks
    .command('list')
    .description('subscriptions and how they are doing, without their secrets')
    .action(async (_options, command: Command) => {
      const { json, ...options } = command.optsWithGlobals<GlobalOptions>()
      const answer = await (await connect(options)).listWebhooks()
      if (json) return printJson(terminal, answer)
      const rows = answer.webhooks.map(({ webhookId, state, circuit, events, tags, url }) => [
        webhookId,
        circuit.state === 'closed' ? state : `${state}, circuit ${circuit.state}`,
        events.join(','),
        tags.join(','),
        url,
      ])
      printTable(terminal, ['WEBHOOK', 'STATE', 'EVENTS', 'TAGS', 'URL'], rows)
    })

  webhooks
    .command('add')
    .description('tell a URL of events; the secret that signs them is shown once')
    .argument('<url>')
    .requiredOption('--event <type>', 'a type such as run.completed, a family such as run.*, or *', collectOption)
    .option('--tag <tag>', 'only of runs with this tag', collectOption, [])
    .action(async (url: string, _options, command: Command) => {
      const { json, event, tag, ...options } = command.optsWithGlobals<AddOptions>()
      const created = await (await connect(options)).createWebhook({
        url,
        events: [...event],
        ...(tag.length > 0 && { tags: [...tag] }),
      })
      if (json) return printJson(terminal, created)
      terminal.out(created.secret ?? '')
      terminal.note(pc.dim(`webhook ${created.webhookId}; the secret above is not shown again`))
    })

  webhooks
    .command('remove')
    .description('end a subscription; what was still to be delivered is not')
    .argument('<webhookId>')
    .action(async (webhookId: string, _options, command: Command) => {
      const { json, ...options } = command.optsWithGlobals<GlobalOptions>()
      await (await connect(options)).removeWebhook(webhookId)
      if (json) printJson(terminal, { webhookId, removed: true })
      else terminal.out(`${webhookId} removed`)
    })
}

type DeliveriesOptions = GlobalOptions & { readonly limit?: number }

function addDeliveries(webhooks: Command, { terminal }: Cli): void {
  webhooks
    .command('deliveries')
    .description('what a subscription was told lately and how that went, newest first')
    .argument('<webhookId>')
    .option('--limit <n>', 'at most this many', wholeNumber)
    .action(async (webhookId: string, _options, command: Command) => {
      const { json, limit, ...options } = command.optsWithGlobals<DeliveriesOptions>()
      const answer = await (await connect(options)).listDeliveries(webhookId, limit)
      if (json) return printJson(terminal, answer)
      const rows = answer.deliveries.map(one => [
        one.occurredAt,
        `${one.runId}:${one.sequence}`,
        one.eventType,
        one.state,
        String(one.attempts),
        String(one.status ?? ''),
        one.error ?? '',
      ])
      printTable(terminal, ['OCCURRED', 'EVENT', 'TYPE', 'STATE', 'TRIES', 'STATUS', 'ERROR'], rows)
    })
}
