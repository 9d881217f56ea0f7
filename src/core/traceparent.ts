/**
 * W3C trace context as it travels (`traceparent`): which trace something belongs to, and the span that led to it. It is for
 * telling stories together and authorizes nothing (R-XHOST-8).
 */
export type TraceContext = {
  readonly traceId: string
  readonly spanId: string
  /** Whether whoever began the trace records it. */
  readonly sampled: boolean
}

/** Version 00 is this and no more; later versions may have more behind it, and ff is none. */
const TRACEPARENT = /^(?!ff)([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/

const NOTHING = /^0+$/

/** Undefined for whatever the recommendation does not let pass: who sends it is not refused, and begins a trace here. */
export function parseTraceparent(text: string | undefined): TraceContext | undefined {
  const [, version, traceId = '', spanId = '', flags = '', more] = TRACEPARENT.exec(text ?? '') ?? []
  if (version === undefined || (version === '00' && more !== undefined)) return undefined
  if (NOTHING.test(traceId) || NOTHING.test(spanId)) return undefined
  return { traceId, spanId, sampled: (Number.parseInt(flags, 16) & 1) === 1 }
}

export const renderTraceparent = ({ traceId, spanId, sampled }: TraceContext): string =>
  `00-${traceId}-${spanId}-${sampled ? '01' : '00'}`
