/** The wake time of a run that is owed work now: past on every clock. 0 is left to wake-ups by other runs. */
export const WAKE_NOW = 1

/** A lost wake-up delays a run that waits for a child by at most this much. */
export const CHILD_RECHECK_MS = 30_000
