/**
 * What one decision may take, in steps (`core/meter.ts`). Nothing else of the host goes on while a run is decided, so this
 * is how long a run can keep the others waiting.
 *
 *  W1  A step, which is the start of a node or a look at whether its turn has come, that would take more than `step` is not
 *      taken: it fails, and where it is the look, the run does.
 *  W2  A decision that has taken `decision` steps ends, and what is left is owed as `continue`: it is the next decision's.
 *      Only commits show where that was. A run told again goes on where the log goes on, whatever the limit is now.
 *  W3  Every decision that is owed gets something told, or the run fails: nothing is owed for ever.
 */
export type WorkLimits = { readonly step: number; readonly decision: number }

/** A decision takes at most both, and once more what the look at what is left takes: a little over a million steps. */
export const WORK_LIMITS: WorkLimits = { step: 500_000, decision: 350_000 }

/** For what is told: written as JSON, hashed, and handed to the store. */
export const STEPS_PER_BYTE = 0.5
