import { isObject, type Json } from '../../core/json.js'
import { type RecapEvent, recapOf } from '../../core/supervisor/recap.js'
import { recapText } from '../../core/supervisor/recap-text.js'
import { type TeamMember, teamText } from '../../core/supervisor/team.js'
import type { Feedback } from '../../core/verification/voting/judgement.js'
import { fenced } from './untrusted.js'

type Recalled = { readonly conversation: readonly MemoryText[]; readonly longTerm: readonly MemoryText[] }
type MemoryText = {
  readonly id: string
  readonly content?: string
  readonly tags: readonly string[]
  readonly createdAt: string
}

/**
 * The user message: examples, what is remembered, the prompt or the bare task, who is there, what has happened so far, what was
 * sent back.
 */
export function userText(parts: {
  readonly examples: readonly string[]
  readonly prompt: string | undefined
  readonly task: Json
  readonly memory?: Recalled | undefined
  readonly transcript: readonly RecapEvent[] | undefined
  readonly team: readonly TeamMember[] | undefined
  readonly feedback: Feedback | undefined
}): string {
  const { examples, prompt, task, memory, transcript, team = [], feedback } = parts
  return [
    ...examples,
    ...(memory === undefined ? [] : recalled(memory)),
    prompt ?? taskText(task),
    ...(team.length === 0 ? [] : [introduction(team)]),
    ...(transcript === undefined ? [] : [history(transcript, task)]),
    ...(feedback === undefined ? [] : [sentBack(feedback)]),
  ]
    .filter(part => part !== '')
    .join('\n\n')
}

/** Fenced: whoever else writes into the scope of the run, or was answered there, says no more than that. */
const recalled = ({ conversation, longTerm }: Recalled): string[] => [
  ...(longTerm.length === 0
    ? []
    : [`What you have written down before, newest first:\n${fenced('memory', longTerm.map(noted).join('\n'))}`]),
  ...(conversation.length === 0
    ? []
    : [
        `Earlier in this conversation, oldest first:\n${fenced('conversation', conversation.map(({ content = '' }) => content).join('\n'))}`,
      ]),
]

const noted = ({ id, content = '', tags, createdAt }: MemoryText): string =>
  JSON.stringify({ id, content, ...(tags.length > 0 && { tags }), createdAt })

/** Not fenced: it is what the agent is asked to do. */
const taskText = (task: Json): string => (typeof task === 'string' ? task : JSON.stringify(task))

const introduction = (team: readonly TeamMember[]): string =>
  `Workers you may name in nextWorkerIds, one a line:\n${fenced('workers', teamText(team))}`

/** R-STATE-5, R-STATE-7: what the window shows, in no more than RECAP_BYTES; '' where nothing has happened yet. */
function history(transcript: readonly RecapEvent[], task: Json): string {
  const turn = isObject(task) && typeof task.iteration === 'number' ? task.iteration : 1
  const told = recapText(recapOf(transcript, turn))
  return told === '' ? '' : `What has happened so far, one turn a line, oldest first:\n${fenced('transcript', told)}`
}

/** R-DWS-19, R-DWS-20. Findings quote what they were found in, and so may a person: neither can say more than it is. */
function sentBack({ findings, previous, note }: Feedback): string {
  const given = previous === undefined ? '' : `Your previous result:\n${fenced('previous', JSON.stringify(previous))}\n`
  const found = fenced('verifier', findings.map(finding => JSON.stringify(finding)).join('\n'))
  const added = note === undefined ? '' : `\nThe person who sent it back adds: ${fenced('person', taskText(note))}`
  return `${given}Your previous result was sent back. Fix these findings:\n${found}${added}`
}
