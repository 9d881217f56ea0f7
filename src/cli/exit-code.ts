import type { RunStatus } from '../client/wire-shapes.js'

/** What every command ends with. Scripts depend on these numbers. */
export const EXIT = { ok: 0, failed: 1, refused: 2, waiting: 3 } as const

export type ExitCode = (typeof EXIT)[keyof typeof EXIT]

export function exitCodeOf(status: RunStatus): ExitCode {
  if (status === 'failed' || status === 'cancelled') return EXIT.failed
  return isWaiting(status) ? EXIT.waiting : EXIT.ok
}

/** The run needs a person, or something outside, before it goes on. */
export const isWaiting = (status: RunStatus): boolean => status.startsWith('waiting-') || status === 'paused'
