import { parseTraceparent, renderTraceparent, type TraceContext } from './core/traceparent.js'
import { sha256 } from './digest.js'

/**
 * One trace for each tree of runs (R-TRACE-1). It is what the root was asked for under, or is made of the root's id; it is
 * recorded once, in `run.started` or `assay.run.forked`, and every run below has the same. Spans are made of the identity of
 * what is sent: every try of it is the same span, whichever host sends it.
 */

/** What a root records, given what its request carried. */
export const traceBegun = (runId: string, inbound?: string): string =>
  renderTraceparent(parseTraceparent(inbound) ?? ownTrace(runId))

/** The header that something is sent under on behalf of a run. A run of before traces were recorded has one all the same. */
export function traceparentFor(runId: string, recorded: string | undefined, effectId: string): string {
  const { traceId, sampled } = parseTraceparent(recorded) ?? ownTrace(runId)
  return renderTraceparent({ traceId, sampled, spanId: spanOf('effect', effectId) })
}

const ownTrace = (runId: string): TraceContext => ({
  traceId: sha256(`assay:trace\0${runId}`).slice(0, 32),
  spanId: spanOf('run', runId),
  sampled: true,
})

const spanOf = (kind: 'run' | 'effect', id: string): string => sha256(`assay:span\0${kind}\0${id}`).slice(0, 16)
