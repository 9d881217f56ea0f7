import type { Command } from 'commander'
import pc from 'picocolors'
import type { OpenInterrupt } from '../../client/wire-shapes.js'
import { systemClock } from '../../system.js'
import type { Cli } from '../cli.js'
import { describeInterrupt, expiryText, headline } from '../progress/interrupt-text.js'
import { chosenInterrupt, interruptsInLog } from '../progress/open-interrupts.js'
import { isWaitingStatus } from '../terminal/exit-code.js'
import { parseSpan, spanText } from '../terminal/span.js'
import { printable, printJson, printTable } from '../terminal/terminal.js'
import { type AnswerOptions, answerGiven } from './answer.js'
import { connect, type GlobalOptions } from './connect.js'
import { collectOption } from './options.js'

export function addInterrupts(program: Command, cli: Cli): void {
  const interrupts = program.command('interrupts').description('what runs wait for someone to answer')
  addList(interrupts, cli)
  addShow(interrupts, cli)
  addResolve(interrupts, cli)
  addLink(interrupts, cli)
}

function addList(interrupts: Command, { terminal }: Cli): void {
  interrupts
    .command('list')
    .description('everything that waits for an answer, newest run first')
    .action(async (_options, command: Command) => {
      const { json, ...options } = command.optsWithGlobals<GlobalOptions>()
      const client = await connect(options)
      const open: OpenInterrupt[] = []
      for await (const interrupt of client.allInterrupts()) open.push(interrupt)
      if (json) return printJson(terminal, { interrupts: open })
      if (open.length === 0) return terminal.note('nothing waits for an answer')
      const now = systemClock.now()
      const rows = open.map(({ runId, nodeId, kind, data, requestedAt, expiresAt }) => [
        runId,
        nodeId,
        kind,
        spanText(now - Date.parse(requestedAt)),
        expiresAt === undefined ? '' : expiryText(expiresAt, now),
        headline(kind, data),
      ])
      printTable(terminal, ['RUN', 'NODE', 'KIND', 'WAITING', 'EXPIRES', 'QUESTION'], rows)
    })
}

function addShow(interrupts: Command, { terminal }: Cli): void {
  interrupts
    .command('show')
    .description('what is asked, in full, and how to answer')
    .argument('<runId>')
    .argument('[nodeId]', 'which one, when several are open')
    .action(async (runId: string, nodeId: string | undefined, _options, command: Command) => {
      const { json, ...options } = command.optsWithGlobals<GlobalOptions>()
      const interrupt = await chosenInterrupt(await connect(options), runId, nodeId)
      if (json) return printJson(terminal, interrupt)
      for (const line of describeInterrupt(interrupt, systemClock.now())) terminal.out(line)
    })
}

type ResolveOptions = GlobalOptions & AnswerOptions

function addResolve(interrupts: Command, { terminal }: Cli): void {
  interrupts
    .command('resolve')
    .description('answer; the run goes on')
    .argument('<runId>')
    .argument('[nodeId]', 'which one, when several are open')
    .option('--accept', 'approve')
    .option(
      '--add <ceiling=amount>',
      'with --accept, where a run has used up its budget: what it may spend more; once for each',
      collectOption,
      [],
    )
    .option('--reject', 'refuse')
    .option('--refine <text>', 'send back, saying what to change')
    .option('--edit <json|@file|->', 'approve this instead of what is shown')
    .option('--answer <question=answer>', 'answer a question by its id; once for each', collectOption, [])
    .option('--value <json|@file|->', 'the whole answer, for any kind')
    .option('--feedback <text>', 'why, with --accept, --reject, --refine or --edit')
    .option('--shown <hash>', 'only if this is still what is shown (from `interrupts show`)')
    .action(async (runId: string, nodeId: string | undefined, _options, command: Command) => {
      const { json, ...options } = command.optsWithGlobals<ResolveOptions>()
      const client = await connect(options)
      const interrupt = await chosenInterrupt(client, runId, nodeId)
      const value = await answerGiven(interrupt, options, terminal.readStdin)
      const answer = await client.resolveInterrupt(runId, interrupt.nodeId, value)
      if (json) return printJson(terminal, answer)
      terminal.out(`${runId} ${answer.status}`)
      if (!isWaitingStatus(answer.status)) return
      const open = await interruptsInLog(client, await client.getRun(runId))
      const still = open.find(one => one.interruptId === interrupt.interruptId)
      if (still !== undefined) terminal.note(printable(`heard; ${interrupt.nodeId} waits for further answers`))
      else terminal.note(`${pc.dim('next:')}  assay interrupts show ${runId}`)
    })
}

type LinkOptions = GlobalOptions & { readonly expires?: number; readonly inspect?: true; readonly for?: string }

function addLink(interrupts: Command, { terminal }: Cli): void {
  interrupts
    .command('link')
    .description('a URL that answers without a key; give it only to whom it is for')
    .argument('<runId>')
    .argument('[nodeId]', 'which one, when several are open')
    .option('--expires <time>', 'how long it works: 30m (the default), 12h, 7d', parseSpan)
    .option('--inspect', 'for looking only')
    .option('--for <name>', 'who will answer with it, for the log')
    .action(async (runId: string, nodeId: string | undefined, _options, command: Command) => {
      const { json, expires, inspect, for: subject, ...options } = command.optsWithGlobals<LinkOptions>()
      const client = await connect(options)
      const interrupt = await chosenInterrupt(client, runId, nodeId)
      const link = await client.linkInterrupt(runId, interrupt.nodeId, {
        ...(expires !== undefined && { expiresInSeconds: expires }),
        ...(inspect && { intent: 'inspect' }),
        ...(subject !== undefined && { subject }),
      })
      const url = new URL(link.url, client.connection.url).href
      if (json) return printJson(terminal, { ...link, url })
      terminal.out(url)
      terminal.note(pc.dim(`whoever has it can ${inspect ? 'look' : 'answer'} until ${link.expiresAt}`))
    })
}
