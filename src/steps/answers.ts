import type { Acted, ActingCall } from '../engine/ports/performer.js'

type Failed = Extract<Acted, { ok: false }>

/** It has failed for good, or may do better when it is tried again. */
export const failedStepWith = (message: string, retryable = false): Failed => ({
  ok: false,
  code: 'effect_failed',
  message,
  retryable,
})

/** It may have happened: what must not happen twice is not tried again, and somebody has to look. */
export const cutShort = ({ repeat }: Pick<ActingCall, 'repeat'>, message: string): Failed =>
  repeat === 'never'
    ? {
        ok: false,
        code: 'effect_outcome_unknown',
        message: `${message}; it must not be done twice, so find out there what happened`,
        retryable: false,
      }
    : failedStepWith(message, true)
