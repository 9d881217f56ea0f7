import type { Spend } from '../budget/budget.js'
import type { Brief, ModelLacks, ModelReply, ToolReply, Usage } from '../invocation/brief.js'
import type { SystemCall } from '../invocation/system-call.js'
import type { Anchors, EntriesRead, EntryMade } from '../journal/entry.js'
import type { Places } from '../journal/place.js'
import type { Silence } from '../handoff/peer-work.js'
import type { Json, JsonObject } from '../json.js'
import type { Failure } from '../problem.js'
import type { ReplayDivergedAtRefusal } from '../replay/events.js'
import type { BoundGate } from '../verification/gate.js'
import type { ProbeResult } from '../verification/voting/judgement.js'
import type { TrackRecord } from '../verification/voting/licence.js'
import type { ForeignEvent } from '../handoff/foreign-cause.js'
import type { PeerReceipt } from '../handoff/peer-receipt.js'
import type { DrainPolicy, Recorded, RunStarted, RunStatus } from './events.js'

/** What can happen to a run. Time is part of every input: the core has no clock. */
export type RunInput = { readonly now: number; readonly conflict?: FileConflict } & (Command | EffectOutcome | Retold)

/** What a log remembers of its inputs: a replay is told the same again. */
export type RecordedInput = (Exclude<Command, { type: 'StartRun' }> | EffectOutcome) & {
  /** The store did not take what was decided first: a file had changed since it was seen. */
  readonly conflict?: FileConflict
}

/** Where the file would have been published, and which version it has. */
export type FileConflict = {
  readonly path: string
  readonly currentVersion: number
  readonly point: 'write' | 'harvest' | 'node' | 'run'
  readonly nodeId?: string
  readonly childRunId?: string
}

/** A person or a client asks; may be refused. */
export type Command =
  | {
      readonly type: 'StartRun'
      readonly runId: string
      readonly started: RunStarted
      /** Inputs that carry a secret of the parent, besides those declared sensitive. */
      readonly hiddenInputs?: readonly string[]
      /** What only the host may give a run, by name: what a verifier judges, what was found in a worker's last result. */
      readonly withheld?: JsonObject
      /** What its results are held to. */
      readonly gates?: readonly BoundGate[]
      /** Where it stands in memory and workspace. */
      readonly journal?: Places
    }
  | { readonly type: 'CancelRun'; readonly reason?: string; readonly by: string; readonly parentRunId?: string }
  | { readonly type: 'PauseRun'; readonly drainPolicy: DrainPolicy; readonly reason?: string }
  | { readonly type: 'ResumeRun'; readonly reason?: string }
  /** What waits to be tried again is tried now: this node, or every one. */
  | { readonly type: 'RetryNow'; readonly nodeId?: string }
  | ResolveInterrupt

export type ResolveInterrupt = {
  readonly type: 'ResolveInterrupt'
  readonly nodeId: string
  readonly interruptId?: string
  readonly value: Json
  /** Who answers, by its credential. */
  readonly by: string
  /** Whose vote it is, when the answering key may speak for others. */
  readonly voter?: string
  readonly via: 'key' | 'token'
  /** Hash of the data that is shown, and the one that the answer says it was given on sight of. */
  readonly shownHash: string
  readonly claimedHash?: string
}

/**
 * The world answers. `since` identifies the asking: the sequence of the event that asked, which for a node is its
 * node.started, for a verifier its assay.verifier.began, for evidence the event that brought the result, and after rework
 * assay.rework.began. An answer to a question that is no longer open decides to nothing, so delivering it twice is harmless.
 */
export type EffectOutcome =
  | { readonly type: 'TimeCame' }
  | { readonly type: 'Continue' }
  | {
      readonly type: 'ChildStarted'
      readonly nodeId: string
      readonly since: number
      /** Which of the node's workers, or of the verifiers of what it brought. */
      readonly worker: number
      readonly verifier?: true
      readonly childRunId: string
      /** The agent that works there, if its workflow names one. */
      readonly agentId?: string
    }
  | {
      readonly type: 'ChildRefused'
      readonly nodeId: string
      readonly since: number
      readonly worker: number
      readonly verifier?: true
      readonly error: Failure
    }
  /** The evidence is in: what the host's own probes found, and what is known of the gate's verifiers. */
  | {
      readonly type: 'Inspected'
      readonly nodeId: string
      /** Sequence of the event that brought the result. */
      readonly since: number
      readonly gateId: string
      readonly attempt: number
      readonly round: number
      /** SHA-256 over the canonical JSON of the result. */
      readonly resultHash: string
      readonly evidence: readonly ProbeResult[]
      readonly licence?: TrackRecord
      readonly effectiveVotes?: number
      /** The same over what the gate's `context` came to. */
      readonly contextHash?: string
    }
  | {
      readonly type: 'ChildEnded'
      readonly nodeId: string
      readonly childRunId: string
      readonly status: 'completed' | 'failed' | 'cancelled'
      /** Those of its variables that are mapped back. */
      readonly variables: JsonObject
      /** Names among them that must not be seen. */
      readonly hidden: readonly string[]
      /** SHA-256 over the canonical JSON of `variables`, where it is asked for. */
      readonly checksum?: string
      readonly error?: Failure
      /** With its own children's. */
      readonly spent?: Spend
      /** What of it nobody knows the cost of, and is no part of `spent`. */
      readonly held?: Spend
      /** What of that its verifiers spent. */
      readonly verification?: Spend
      /** Agents that its workflow names: nobody is to judge what it did itself. */
      readonly agents?: readonly string[]
      /** Models it has used, as `provider:model`. */
      readonly models?: readonly string[]
      /** By hash: the prompts that its verifiers judged by. */
      readonly prompts?: readonly string[]
      /** It says itself that it has not reached its goal. */
      readonly goalSatisfied?: false
      /** Of a peer's run: the event of its end there, and what the peer says that it has cost. */
      readonly foreign?: ForeignEvent
      readonly claimed?: Partial<Spend>
      /** And what it has signed of that run, where it is asked for that. */
      readonly receipt?: PeerReceipt
    }
  | {
      readonly type: 'AgentBriefed'
      readonly nodeId: string
      readonly since: number
      /** `contents` names the outcome that keeps what the brief does not tell. */
      readonly answer:
        | {
            ok: true
            brief: Brief
            contents: string
            /** How far its scopes had come, where a turn begins with it. */
            anchors?: Anchors
            /** What of memory it was given. */
            read?: EntriesRead
          }
        /** `lacks` when no model here has what the node needs. */
        | { ok: false; error: Failure; lacks?: ModelLacks & { fallbackAttempted: boolean } }
    }
  /** A piece of a model's reasoning, while it is still at it; `sequence` numbers the pieces of one call. */
  | {
      readonly type: 'ModelReasoned'
      readonly nodeId: string
      readonly since: number
      readonly call: number
      readonly attempt: number
      readonly sequence: number
      readonly delta: string
    }
  | {
      readonly type: 'ModelAnswered'
      readonly nodeId: string
      readonly since: number
      readonly call: number
      readonly answer: /** `exchange` is what a conversation remembers of it, if it stands. */
        | { ok: true; reply: ModelReply; contents: string; exchange?: EntryMade }
        /** `usage` when it may have been billed all the same. */
        | { ok: false; error: Failure; usage?: Usage }
    }
  /** A host that is gone had begun this try of the call. */
  | {
      readonly type: 'ModelLost'
      readonly nodeId: string
      readonly since: number
      readonly call: number
      readonly attempt: number
    }
  | {
      readonly type: 'ToolAnswered'
      readonly nodeId: string
      readonly since: number
      /** The model call that asked for it, and which of its calls this was. */
      readonly call: number
      readonly position: number
      readonly answer: /** `result`: what the tool has said, where a gate is to see it. */
      { ok: true; reply: ToolReply; contents: string; result?: Json } | { ok: false; error: Failure }
    }
  | {
      readonly type: 'EffectAnswered'
      readonly nodeId: string
      readonly since: number
      readonly answer: /**
       * `entries`, `read`: what it writes down for later, and what of that it has read; `said`: lines for the log;
       * `codeDigest`: of the code of the project that did it.
       */
        | {
            ok: true
            output: Json
            entries?: readonly EntryMade[]
            read?: readonly EntriesRead[]
            call?: SystemCall
            said?: readonly string[]
            codeDigest?: string
          }
        | { ok: false; error: Failure; call?: SystemCall; said?: readonly string[]; codeDigest?: string }
    }
  | {
      readonly type: 'JournalUsed'
      readonly nodeId: string
      readonly since: number
      readonly answer:
        | { ok: true; output: JsonObject; entry?: EntryMade; read?: EntriesRead }
        | { ok: false; error: Failure }
    }
  /** A try to reach the peer that a piece of work was handed to has failed; `began` is its `dispatch.began`. */
  | {
      readonly type: 'PeerSilent'
      readonly nodeId: string
      readonly began: number
      readonly reason: Silence
      /** How long silence may last, by this host's configuration. */
      readonly lostAfterMs: number
    }
  | { readonly type: 'PeerHeard'; readonly nodeId: string; readonly began: number }
  /** The run of a hand-off that was given up is at rest; `lost` is its `assay.peer.lost`. */
  | { readonly type: 'PeerLetGo'; readonly nodeId: string; readonly lost: number }
  /** A child waits for someone, or no longer does. */
  | { readonly type: 'ChildWaits'; readonly nodeId: string; readonly childRunId: string; readonly status: RunStatus }
  /** A replay has come to a wait of which its source recorded no outcome. */
  | { readonly type: 'SourceMissing'; readonly nodeId: string; readonly since: number }
  /** A replay has come to a call that was refused then and would be answered today, or the other way round. */
  | {
      readonly type: 'RefusalDiverged'
      readonly nodeId: string
      readonly since: number
      readonly told: ReplayDivergedAtRefusal
    }
  /** `unverified`: not that it takes its hosts down, but that the store would not have what it merged (S10). */
  | { readonly type: 'Quarantine'; readonly attempts: number; readonly unverified?: true }

/** The next events of a replay, as `Replay` worked them out. */
export type Retold = { readonly type: 'Retold'; readonly events: readonly Recorded[] }
