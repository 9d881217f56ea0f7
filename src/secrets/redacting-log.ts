import { MASK } from '../core/run/redaction.js'
import type { Log } from '../engine/ports/log.js'
import type { Redactor } from './redactor.js'

/** Deep enough for what is logged; what lies deeper, or leads round in a circle, is not shown. */
const DEEPEST = 8

/** The last gate before a log line: whatever a library put into an error, no known secret is in it. */
export function redactingLog(log: Log, redact: Redactor): Log {
  const fields = (given: object): object => shown(given, redact, 0) as object
  return {
    info: (given, message) => log.info(fields(given), redact.text(message)),
    warn: (given, message) => log.warn(fields(given), redact.text(message)),
    error: (given, message) => log.error(fields(given), redact.text(message)),
  }
}

function shown(value: unknown, redact: Redactor, depth: number): unknown {
  if (typeof value === 'string') return redact.text(value)
  if (typeof value !== 'object' || value === null) return value
  if (depth > DEEPEST) return MASK
  if (value instanceof Date) return value
  if (ArrayBuffer.isView(value)) return `[${value.byteLength} bytes]`
  const inner = (item: unknown): unknown => shown(item, redact, depth + 1)
  if (Array.isArray(value)) return value.map(inner)
  const entries = Object.entries(value instanceof Error ? partsOf(value) : value)
  return Object.fromEntries(entries.map(([name, item]) => [redact.text(name), inner(item)]))
}

/** What an error says is not among its own visible fields. */
const partsOf = (error: Error): object => ({
  ...error,
  type: error.name,
  message: error.message,
  stack: error.stack,
  ...(error.cause === undefined ? {} : { cause: error.cause }),
})
