import type { Json } from '../../core/json.js'
import type { Feedback } from '../../core/verification/voting/judgement.js'
import { fenced } from './untrusted.js'

/** The user message: examples, the prompt or the bare task, what the run has seen so far, what was sent back. */
export function userText(parts: {
  readonly examples: readonly string[]
  readonly prompt: string | undefined
  readonly task: Json
  readonly transcript: Json | undefined
  readonly feedback: Feedback | undefined
}): string {
  const { examples, prompt, task, transcript, feedback } = parts
  return [
    ...examples,
    prompt ?? taskText(task),
    ...(transcript === undefined ? [] : [history(transcript)]),
    ...(feedback === undefined ? [] : [sentBack(feedback)]),
  ]
    .filter(part => part !== '')
    .join('\n\n')
}

/** Not fenced: it is what the agent is asked to do. */
const taskText = (task: Json): string => (typeof task === 'string' ? task : JSON.stringify(task))

const history = (transcript: Json): string =>
  `Events of this run so far, oldest first:\n${fenced('transcript', JSON.stringify(transcript))}`

/** R-DWS-19, R-DWS-20. Findings quote what they were found in, and so may a person: neither can say more than it is. */
function sentBack({ findings, previous, note }: Feedback): string {
  const given = previous === undefined ? '' : `Your previous result:\n${fenced('previous', JSON.stringify(previous))}\n`
  const found = fenced('verifier', findings.map(finding => JSON.stringify(finding)).join('\n'))
  const added = note === undefined ? '' : `\nThe person who sent it back adds: ${fenced('person', taskText(note))}`
  return `${given}Your previous result was sent back. Fix these findings:\n${found}${added}`
}
