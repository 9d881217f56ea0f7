import { isObject, type Json, type JsonObject } from '../json.js'
import type { Feedback } from './judgement.js'

/** The input by which the run of a worker that works again is told what was found (R-DWS-19, R-DWS-20). */
export const FEEDBACK_INPUT = 'verificationFeedback'

/** Anybody who starts a run may give it an input of that name; what is not feedback is nothing. */
export function feedbackIn(inputs: JsonObject): Feedback | undefined {
  const given: Json | undefined = inputs[FEEDBACK_INPUT]
  return isObject(given) && Array.isArray(given.findings) ? (given as unknown as Feedback) : undefined
}
