import type { Json } from '../../core/json.js'
import { fenced } from './untrusted.js'

/** The user message: examples, then the prompt or the bare task, then what the run has seen so far. */
export function userText(parts: {
  readonly examples: readonly string[]
  readonly prompt: string | undefined
  readonly task: Json
  readonly transcript: Json | undefined
}): string {
  const { examples, prompt, task, transcript } = parts
  return [...examples, prompt ?? taskText(task), ...(transcript === undefined ? [] : [history(transcript)])]
    .filter(part => part !== '')
    .join('\n\n')
}

/** Not fenced: it is what the agent is asked to do. */
const taskText = (task: Json): string => (typeof task === 'string' ? task : JSON.stringify(task))

const history = (transcript: Json): string =>
  `Events of this run so far, oldest first:\n${fenced('transcript', JSON.stringify(transcript))}`
