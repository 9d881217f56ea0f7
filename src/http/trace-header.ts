import type { IncomingHttpHeaders } from 'node:http'

/** For routes that start runs. Which trace it is says nothing of who asks, or what they may (R-XHOST-8). */
export const TRACE_HEADER = {
  name: 'traceparent',
  description: 'W3C trace context that the run goes on with; what is malformed counts for nothing',
}

/** As it came: what it is worth, whoever records it finds out. */
export function traceOf({ headers: { traceparent } }: { readonly headers: IncomingHttpHeaders }) {
  return typeof traceparent === 'string' ? { traceparent } : {}
}
