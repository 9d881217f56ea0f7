import type { Clock } from '../engine/ports/clock.js'
import type { Log } from '../engine/ports/log.js'
import type { Inspector, PredicateAnswer, Predicates } from '../engine/ports/verification.js'
import { completeProbeSet } from './probe-set.js'

type PredicateDeps = { readonly inspector: Inspector; readonly clock: Clock; readonly log: Log }

const NO_FILES = async () => ({ is: 'unknown', why: 'there is no workspace to look at' }) as const

/** What heartbeats and commitments look at, looked at by the host. */
export const createPredicates = ({ inspector, clock, log }: PredicateDeps): Predicates => ({
  complete: completeProbeSet,
  async ask({ tenant, stream, predicate, maxRuntimeMs, signal }) {
    // Whether it may be asked was judged when it was taken.
    const read = completeProbeSet(predicate, { field: 'predicate', over: 'world', origin: 'project', home: NOWHERE })
    if (!read.ok) {
      log.warn({ stream, problems: read.problems }, 'what a predicate looks at cannot be read here')
      return UNANSWERED.error
    }
    const over = new AbortController()
    const stop = () => over.abort()
    const disarm = clock.after(maxRuntimeMs, stop)
    signal.addEventListener('abort', stop, { once: true })
    const late = new Promise<undefined>(resolve => {
      over.signal.addEventListener('abort', () => resolve(undefined), { once: true })
      if (signal.aborted) stop()
    })
    try {
      const looking = inspector.inspect({
        tenant,
        runId: stream,
        bound: { gate: { evaluation_criteria: [{ dimension: 'world', probes: read.value }] }, knowledge: [] },
        dimensions: ['world'],
        output: null,
        files: NO_FILES,
        signal: over.signal,
      })
      const found = await Promise.race([looking, late])
      return found === undefined ? UNANSWERED.timeout : answerOf(found)
    } finally {
      disarm()
      signal.removeEventListener('abort', stop)
    }
  },
})

const NOWHERE = { what: '', folder: '' }

const UNANSWERED = {
  timeout: { status: 'timeout', holds: null },
  error: { status: 'error', holds: null },
} as const

/** One that does not hold settles it; what could not be found out is no answer. */
function answerOf(found: Awaited<ReturnType<Inspector['inspect']>>): PredicateAnswer {
  if (found.some(({ outcome }) => outcome === 'failed')) return { status: 'ok', holds: false }
  return found.length > 0 && found.every(({ outcome }) => outcome === 'held')
    ? { status: 'ok', holds: true }
    : UNANSWERED.error
}
