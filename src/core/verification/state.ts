import type { Ceilings, Spend } from '../budget/budget.js'
import type { Json } from '../json.js'
import { absent } from '../present.js'
import type { RunBase } from '../run/state.js'
import type { BoundGate } from './gate.js'
import type { ContextTaken } from './gate-context.js'
import type { PassLabel } from './label.js'
import type { Fault, Feedback, Vote as Judged, ProbeResult, Standing } from './voting/judgement.js'
import type { TrackRecord } from './voting/licence.js'

/** What the results of a run are held to, and what has become of them. */
export type Gated = {
  /** In the order in which they are applied. */
  readonly gates: readonly BoundGate[]
  /** What gates have said, by the place where they said it. */
  readonly slots: { readonly [slot: string]: Slot }
  /** Times that the host sent work back; bounded for the whole run (R-DWS-34). */
  readonly reworks: number
  /** What workers and agents that work again are told, by node, and worker where it is one's. */
  readonly feedback: { readonly [place: string]: Feedback }
  /** What work and its judging have cost, by place; places that have cost nothing yet are not here. */
  readonly costs: { readonly [place: string]: PlaceCost }
  /** The latest result that an agent or a worker gave: what a verdict at the workflow's exit is about. */
  readonly latest?: { readonly target: string; readonly sequence: number }
}

/** R-DWS-28: spent on doing work, and on judging it. */
export type Cost = { readonly execution: Spend; readonly verification: Spend }

export type PlaceCost = {
  /** Of the work under way, as it comes before its gates; what was judged in its course is in it. */
  readonly work: Cost
  /** Of all work that was done here, with what its gates have cost. */
  readonly total: Cost
}

/** One gate over one place of work: a node, or one worker of a node. */
export type Slot = {
  readonly gateId: string
  readonly nodeId: string
  readonly workerId?: string
  /** The gate stands before what a tool brings: sequence of its `agent.toolReturned`. */
  readonly returned?: number
  /** The gate stands at the exit of the workflow. */
  readonly atExit?: true
  /** What was judged last, and how (R-VERIFY-21). */
  readonly target: string
  readonly verdict?: 'pass' | 'fail' | 'revise'
  /** With a pass: what may be said of the result. */
  readonly label?: PassLabel
  /** When the work was handed over whose verdict that is: sequence of its `node.started`. */
  readonly since: number
  /** What it was judged by; where that was not a pass, what it did not meet. */
  readonly criteria: readonly string[]
  /** Of the work that is under way; begins anew when the work does. */
  readonly attempts: readonly AttemptMade[]
}

export type AttemptMade = Standing & {
  readonly resultHash: string
  readonly failed: readonly string[]
  readonly cost: Cost
  /** Nobody could judge it: it counts, and says nothing of how good the work is. */
  readonly isUnjudged?: true
  /** Its own gate had it done again. */
  readonly isSentBack?: true
}

/** A result that gates must see before anything is made of it. */
export type Staged = {
  readonly target: string
  /** Sequence of the event that brought it. */
  readonly subject: number
  readonly result: Json
  /** Gates that have let it pass, by index. */
  readonly cleared: readonly number[]
}

/** A gate is at work on the result of a node or of one of its workers. */
export type VerificationAttempt = {
  /** Sequence of its `dws.verification.started`. */
  readonly started: number
  readonly gate: number
  readonly worker?: number
  readonly attempt: number
  readonly target: string
  /** Sequence of the event that brought the result: the cause of the verdict. */
  readonly subject: number
  readonly resultHash: string
  /** Keys that are judged in the present round. */
  readonly dimensions: readonly string[]
  /** The targeted round, once what it has left out is being judged. */
  readonly targeted?: { readonly dimensions: readonly string[]; readonly verifiers: readonly VerifierState[] }
  readonly evidence: readonly ProbeResult[]
  readonly licence?: TrackRecord
  readonly effectiveVotes?: number
  /** Which time verifiers are asked, and which was the first time for the present dimensions. */
  readonly round: number
  readonly firstRound: number
  readonly verifiers: readonly VerifierState[]
  /** The verdict has been told; what follows from it is a person's to say. Sequence of the artifact with all of it. */
  readonly rendered?: number
  readonly spent?: Spend
  readonly context?: ContextTaken
  readonly contextHash?: string
}

export type VerifierState =
  | { readonly is: 'idle' }
  | { readonly is: 'starting'; readonly began: number; readonly grant?: Ceilings }
  | { readonly is: 'running'; readonly began: number; readonly grant?: Ceilings; readonly childRunId: string }
  | { readonly is: 'voted'; readonly vote: Judged }
  | { readonly is: 'faulted'; readonly fault: Fault }

/** The gate that the run knows by this index. */
export const boundGateAt = ({ gated }: Pick<RunBase, 'gated'>, index: number): BoundGate =>
  gated?.gates[index] ?? absent(`gate ${index} of the run`)
