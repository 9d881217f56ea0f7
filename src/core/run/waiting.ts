import type { Halted } from '../budget/state.js'
import type { WorkerState } from '../handoff/state.js'
import type { Asked } from '../interrupt/state.js'
import type { InvocationState } from '../invocation/state.js'
import type { Staged, VerificationAttempt, VerifierState } from '../verification/state.js'
import type { DwsVerdict } from '../verification/voting/judgement.js'
import type { Handoff, Invoking, Judging, Wait } from './events.js'
import type { NodeState } from './state.js'

/** A node that has started and not settled, by whom or what it waits on. Each carries what that needs and no more. */
export type Waiting = OnHost | OnPerson | OnWorkers | OnBrief | OnAgent | OnGate

type Started = {
  readonly is: 'waiting'
  readonly attempt: number
  readonly failures: number
  /** Sequence and time of its `node.started`. */
  readonly since: number
  readonly sinceAt: number
  /** What the calls of its agents have come to, over all attempts; absent where there were none. */
  readonly calls?: CallAccount
  /** Its budget keeps it from its next step, and a person is asked. */
  readonly halted?: Halted
}

/** The host itself: a timer, a check, an effect, or nothing at all. An immediate pause stops it. */
export type OnHost = Started & {
  readonly on: 'host'
  readonly wait: Exclude<Wait, Handoff | Invoking | Judging | { kind: 'interrupt' }>
}

/** Someone outside, from the question until the node settles. */
export type OnPerson = Started & {
  readonly on: 'person'
  readonly wait: { readonly kind: 'interrupt' }
  /** Until it is answered. */
  readonly asked?: Asked
}

/** Workers, each a run of its own, whose results are merged one by one. */
export type OnWorkers = Started & {
  readonly on: 'workers'
  readonly wait: Handoff
  /** In the order of `wait.workers`. */
  readonly workers: readonly WorkerState[]
  /** What holds up the merge of the next result: its gate, or a person who is asked. */
  readonly hold?: Review | { readonly is: 'merging'; readonly asked: Asked }
}

/** An agent that is yet to be told what to do. */
export type OnBrief = Started & {
  readonly on: 'brief'
  readonly wait: Invoking
}

/** An agent at work. */
export type OnAgent = Started & {
  readonly on: 'agent'
  readonly wait: Invoking
  readonly invocation: InvocationState
  /** Sequence of its latest `agent.decided`. */
  readonly decided?: number
  /** Whether what it is not sure of may stand, until that is answered. */
  readonly asked?: Asked
}

/** The gates before a result, which becomes the node's, the run's, or, in a trial, nobody's. */
export type OnGate = Started & {
  readonly on: 'gate'
  readonly staged: Staged
  readonly hold?: Review
} & (
    | {
        readonly point: 'node'
        readonly wait: Invoking
        /** The agent whose result it is, until its invocation is closed. */
        readonly invocation?: InvocationState
        readonly confidence?: number
        /** A person wrote it in the agent's place. */
        readonly edited?: true
      }
    /** What a tool has brought; the agent that asked for it goes on when its gates are done. */
    | { readonly point: 'tool'; readonly wait: Invoking; readonly invocation: InvocationState }
    /** `before` is what the node was when the run was about to end. */
    | { readonly point: 'run'; readonly before: NodeState }
    | {
        readonly point: 'none'
        readonly wait: Judging
        readonly judged?: { readonly verdict: DwsVerdict; readonly artifactId: string; readonly confidence?: number }
      }
  )

export type ToolGate = Extract<OnGate, { readonly point: 'tool' }>

/** A node with a result that gates may have to see before anything is made of it. */
export type Reviewed = OnWorkers | OnGate

/** How far the gate before a result has come; before its first evidence there is nothing to tell. */
export type Review =
  /** Evidence is wanted again, or will be at `dueAt`. */
  | { readonly is: 'inspecting'; readonly attempt: number; readonly round: number; readonly dueAt?: number }
  | { readonly is: 'voting'; readonly gating: VerificationAttempt }
  /** Nobody is asked before `dueAt`. */
  | { readonly is: 'held'; readonly gating: VerificationAttempt; readonly dueAt: number }
  /** A person says what becomes of the result. */
  | { readonly is: 'asking'; readonly gating: VerificationAttempt; readonly asked: Asked }

/** How many of an agent's calls, from the first on. */
export type Paid = { readonly calls: number; readonly uses: number }

export type CallAccount = {
  /** Model calls and tool calls of this attempt that have been counted and whose outcomes are kept. */
  readonly made: Paid
  /** Those that earlier attempts have paid for: their outcomes are used again, and not counted again. */
  readonly paid: Paid
  /** The call whose answer was lost last, and how many tries of it are accounted for. */
  readonly spoiled?: { readonly call: number; readonly attempt: number }
}

const NOTHING_PAID: Paid = { calls: 0, uses: 0 }
export const NO_CALLS: CallAccount = { made: NOTHING_PAID, paid: NOTHING_PAID }

/** What a node asks someone outside and nobody has answered yet. */
export function questionOf(node: NodeState | undefined): Asked | undefined {
  if (node?.is !== 'waiting') return undefined
  if (node.halted?.asked) return node.halted.asked
  switch (node.on) {
    case 'person':
    case 'agent':
      return node.asked
    case 'workers':
    case 'gate':
      return node.hold && 'asked' in node.hold ? node.hold.asked : undefined
    default:
      return undefined
  }
}

/** Whether the node waits for someone to answer: itself, or with what another node has asked. */
export const isSuspended = (node: NodeState | undefined): boolean =>
  questionOf(node) !== undefined || (node?.is === 'waiting' && node.halted !== undefined)

/** What has become of the workers that a node has handed work to. */
export const workersOf = (node: NodeState | undefined): readonly WorkerState[] =>
  node?.is === 'waiting' && node.on === 'workers' ? node.workers : []

/** The agent at work in a node, if one is. */
export const invocationOf = (node: NodeState | undefined): InvocationState | undefined =>
  node?.is === 'waiting' && 'invocation' in node ? node.invocation : undefined

/** The node, if it is one whose result gates may have to see. */
export const reviewed = (node: NodeState | undefined): Reviewed | undefined =>
  node?.is === 'waiting' && (node.on === 'workers' || node.on === 'gate') ? node : undefined

/** The gate at work in a node, if one is. */
export function gatingIn(node: NodeState | undefined): VerificationAttempt | undefined {
  const hold = reviewed(node)?.hold
  return hold && 'gating' in hold ? hold.gating : undefined
}

/** The verifiers of what a node has in hand. */
export const verifiersIn = (node: NodeState | undefined): readonly VerifierState[] => gatingIn(node)?.verifiers ?? []

/** When a gate that nobody could settle is looked at again. */
export const heldUntil = ({ hold }: Reviewed): number | undefined => (hold && 'dueAt' in hold ? hold.dueAt : undefined)

/** The node itself: at the exit it waits for a gate of the run, and is what it was before. */
export const atWork = (node: NodeState): NodeState =>
  node.is === 'waiting' && node.on === 'gate' && node.point === 'run' ? node.before : node
