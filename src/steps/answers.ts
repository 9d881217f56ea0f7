import type { EffectAnswer, Performer } from '../engine/ports/performer.js'

/** What a step is asked to do. */
export type StepCall = Parameters<Performer['perform']>[0]

type Failed = Extract<EffectAnswer, { ok: false }>

/** It has failed for good, or may do better when it is tried again. */
export const failedStepWith = (message: string, retryable = false): Failed => ({
  ok: false,
  code: 'effect_failed',
  message,
  retryable,
})

/** It may have happened: what must not happen twice is not tried again, and somebody has to look. */
export const cutShort = ({ repeat }: Pick<StepCall, 'repeat'>, message: string): Failed =>
  repeat === 'never'
    ? {
        ok: false,
        code: 'effect_outcome_unknown',
        message: `${message}; it must not be done twice, so find out there what happened`,
        retryable: false,
      }
    : failedStepWith(message, true)
