import { serveJobs } from '../workers/serve-jobs.js'
import type { RedactionAnswer, RedactionJob } from './redaction-job.js'
import { redactorOf } from './redactor.js'

/** Runs in a worker thread that may be killed at any moment. */

function answer({ text, spellings, onlyKnown }: RedactionJob): RedactionAnswer {
  const { redact, holdsKnown } = redactorOf(new Map(spellings))
  return onlyKnown ? { kind: 'looked', holdsKnown: holdsKnown(text) } : { kind: 'redacted', text: redact.text(text) }
}

serveJobs(answer, () => answer({ text: 'a word that is none', spellings: [['secret', 'NAME']], onlyKnown: false }))
