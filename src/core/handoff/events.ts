import type { Ceilings, Spend } from '../budget/budget.js'
import type { JsonObject } from '../json.js'
import type { ForeignEvent } from './foreign-cause.js'

export const HANDOFF_PHASES = [
  'dispatch.began',
  'dispatch.succeeded',
  'dispatch.failed',
  'child.completed',
  'child.failed',
  'child.cancelled',
  'output.harvested',
] as const

export type HandoffPhase = (typeof HANDOFF_PHASES)[number]

/** A step of handing work to a worker (contract agents §4). Its cause is the step before, back to the decision. */
export type HandoffRecorded = {
  phase: HandoffPhase
  workerId: string
  parentRunId: string
  /** From `dispatch.succeeded` on. */
  childRunId?: string
  harvestedKeys?: readonly string[]
  attestation?: { checksum: string; algorithm: 'sha256' }
  /** `error` repeats the code for readers of the HTTP error shape. */
  error?: { code: string; error: string; message: string; details?: JsonObject }
}

/** What a worker is given, with `dispatch.began`; what it has brought back, with `child.completed`. */
export type HandoffSecret =
  | {
      readonly inputs: JsonObject
      readonly unset: readonly string[]
      /** What of this run's budget the worker may spend. */
      readonly grant?: Ceilings
      /** What it is told besides: what was found in its last result. */
      readonly withheld?: JsonObject
    }
  | {
      readonly outputs: JsonObject
      readonly hidden: readonly string[]
      readonly attestation?: { checksum: string; algorithm: 'sha256' }
      /** Agents that its run names. */
      readonly agents?: readonly string[]
      /** Of a peer's run: the event of its end there. */
      readonly foreign?: ForeignEvent
      readonly spent?: Spend
      /** What it may have cost besides, and nobody knows. */
      readonly held?: Spend
      readonly verification?: Spend
      readonly goalSatisfied?: false
    }
  /** With `output.harvested`, where gates have judged it: the hash of what they let pass. */
  | { readonly resultHash: string }
  | {
      readonly spent?: Spend
      /** What it may have cost besides, and nobody knows. */
      readonly held?: Spend
      readonly verification?: Spend
      /** With `child.completed`: the child says itself that it has not reached its goal. */
      readonly goalSatisfied?: false
    }
