import { AssayError } from '../../client/assay-error.js'
import type { AskedInterrupt } from '../../client/wire-shapes.js'
import { type Json, withKey } from '../../core/json.js'
import {
  actionsOf,
  answerCommands,
  answerFrom,
  headline,
  type Question,
  questionsOf,
  schemaHint,
  shownLines,
} from '../progress/interrupt-text.js'
import type { Conversation } from './conversation.js'
import { printable } from './terminal.js'

/** What a person said to an approval. */
export type PromptReply =
  | { readonly is: 'answer'; readonly value: { readonly [name: string]: Json } }
  | { readonly is: 'show' | 'later' | 'unclear' | 'refine-how' }

type Choice = { readonly letter: string; readonly word: string; readonly shown: string }

const CHOICES: readonly Choice[] = [
  { letter: 'a', word: 'accept', shown: '[a]ccept' },
  { letter: 'r', word: 'reject', shown: '[r]eject' },
  { letter: 'f', word: 'refine', shown: 're[f]ine' },
  { letter: 's', word: 'show', shown: '[s]how' },
  { letter: 'l', word: 'later', shown: '[l]ater' },
]

const offered = (actions: readonly string[]): readonly Choice[] =>
  CHOICES.filter(({ word }) => word === 'show' || word === 'later' || actions.includes(word))

export function approvalPrompt({ kind, data }: AskedInterrupt): string {
  const choices = offered(actionsOf(data)).map(({ shown }) => shown)
  return `Approve "${printable(headline(kind, data))}"? ${choices.join(' / ')} `
}

/** A letter or word of the prompt; what follows it is the reason, or what to change. */
export function readReply(line: string, actions: readonly string[]): PromptReply {
  const [, word = '', text = ''] = /^\s*(\S*)\s*(.*?)\s*$/s.exec(line) ?? []
  const said = word.toLowerCase()
  const choice = offered(actions).find(one => said === one.letter || said === one.word)
  switch (choice?.word) {
    case 'accept':
    case 'reject':
      return { is: 'answer', value: { action: choice.word, ...(text !== '' && { feedback: text }) } }
    case 'refine':
      return text === '' ? { is: 'refine-how' } : { is: 'answer', value: refinement(text) }
    case 'show':
    case 'later':
      return { is: choice.word }
    default:
      return { is: 'unclear' }
  }
}

const refinement = (text: string) => ({ action: 'refine', refineFeedback: { scope: 'whole', text } })

export type Asking = {
  readonly conversation: Conversation
  readonly say: (line: string) => void
  /** Gives the answer to the server; rejects with AssayError when it is refused. */
  readonly send: (value: Json) => Promise<unknown>
  readonly explain: (error: AssayError) => readonly string[]
}

/** Codes of refusals after which asking again is of no use: nothing waits for an answer any more. */
const OVER = new Set([
  'interrupt_already_resolved',
  'interrupt_expired',
  'interrupt_gone',
  'interrupt_cancelled',
  'interrupt_not_found',
  'not_found',
])

/** Asks until an answer is taken, nothing waits for one any more, or the person leaves it for later. */
export async function askPerson(interrupt: AskedInterrupt, asking: Asking): Promise<'answered' | 'over' | 'later'> {
  const { shownHash } = interrupt
  for (;;) {
    const value = await heard(interrupt, asking)
    if (value === undefined) return 'later'
    try {
      // The answer is for what was shown here, not for what may have taken its place since.
      await asking.send(shownHash === undefined ? value : { ...value, shownHash })
      return 'answered'
    } catch (error) {
      if (!(error instanceof AssayError)) throw error
      for (const line of asking.explain(error)) asking.say(line)
      if (OVER.has(error.code)) return 'over'
    }
  }
}

function heard(interrupt: AskedInterrupt, asking: Asking): Promise<{ readonly [name: string]: Json } | undefined> {
  if (interrupt.kind === 'approval') return hearApproval(interrupt, asking)
  if (interrupt.kind === 'clarification') return hearAnswers(interrupt, asking)
  for (const line of shownLines(interrupt.kind, interrupt.data)) asking.say(line)
  for (const command of answerCommands(interrupt)) asking.say(`answer with: ${command}`)
  return Promise.resolve(undefined)
}

async function hearApproval(interrupt: AskedInterrupt, { conversation, say }: Asking) {
  const actions = actionsOf(interrupt.data)
  for (;;) {
    const line = await conversation.ask(approvalPrompt(interrupt))
    if (line === undefined) return undefined
    const reply = readReply(line, actions)
    if (reply.is === 'answer')
      return isRaise(interrupt, reply.value) ? hearAmount(interrupt, conversation) : reply.value
    if (reply.is === 'later') return undefined
    if (reply.is === 'show') for (const shown of shownLines(interrupt.kind, interrupt.data)) say(shown)
    if (reply.is === 'refine-how') {
      const text = (await conversation.ask('What should change? '))?.trim()
      if (text === undefined) return undefined
      if (text !== '') return refinement(text)
    }
  }
}

/** Whether a run that has used up its budget is let spend more. */
const isRaise = ({ data }: AskedInterrupt, { action }: { readonly [name: string]: Json }): boolean =>
  data.artifactType === 'budget' && action === 'accept'

/** How much more; nothing said is the least that helps. */
async function hearAmount({ data: { setting, leastDelta } }: AskedInterrupt, conversation: Conversation) {
  const said = await conversation.ask(`Add how much to ${printable(String(setting))}? (at least ${leastDelta}) `)
  if (said === undefined) return undefined
  const amount = said.trim() === '' ? Number(leastDelta) : Number(said)
  // What is no number is for the host to refuse, and is asked again.
  return { action: 'accept', budgetDelta: { [String(setting)]: Number.isFinite(amount) ? amount : said.trim() } }
}

async function hearAnswers({ data }: AskedInterrupt, asking: Asking) {
  let answers: { readonly [id: string]: Json } = {}
  for (const question of questionsOf(data)) {
    const text = await hearAnswer(question, asking)
    if (text === undefined) return undefined
    answers = withKey(answers, question.id, answerFrom(question, text))
  }
  return { answers }
}

async function hearAnswer({ question, schema }: Question, { conversation, say }: Asking): Promise<string | undefined> {
  const hint = schema === undefined ? '' : ` ${schemaHint(schema)}`
  for (;;) {
    const text = await conversation.ask(`${printable(question)}${hint} `)
    if (text !== '') return text
    say('type an answer; Ctrl-D leaves it for later')
  }
}
