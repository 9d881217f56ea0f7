import type { Graph } from './graph.js'

/**
 * What the checker is given and what it answers. Nothing here is shared with the engine or a store: the checker knows
 * the contract only, so a mistake in the engine cannot hide in a type or table that both use.
 */
export type CheckInput = {
  readonly runs: readonly CheckedRun[]
  /** All runs of the store are here: a child or cause that is not found does not exist. */
  readonly complete?: boolean
  /** `assay` (the default) adds what Assay promises beyond the protocol; `openwop` is for logs of any other host. */
  readonly dialect?: 'assay' | 'openwop'
  readonly limits?: {
    /** The host's ceiling on node executions per run. */
    readonly maxNodeExecutions?: number
    /** The host's ceiling on an orchestrator's turns per run. */
    readonly maxLoopIterations?: number
    /** The confidence below which the host promises to escalate a decision; 0.5 when absent. */
    readonly confidenceFloor?: number
    /** How far the clocks of two hosts may lie apart, in milliseconds. */
    readonly clockSkewMs?: number
  }
}

export type CheckedRun = {
  readonly runId: string
  readonly tenant?: string
  readonly row?: CheckedRow
  /** The workflow as its author registered it. */
  readonly definition?: unknown
  /** In stored order. */
  readonly events: readonly CheckedEvent[]
  readonly invocations?: readonly CheckedInvocation[]
  readonly snapshot?: CheckedSnapshot
  /** What the run began as a copy of, where no row says so. Null: of nothing. Absent: unknown. */
  readonly fork?: CheckedFork | null
  /** The same log as it was read elsewhere, by the name of the place: a poll, a stream, a bundle. */
  readonly views?: { readonly [name: string]: readonly CheckedEvent[] }
}

export type CheckedRow = {
  readonly status: string
  readonly length?: number
  readonly parentRunId?: string | null
  readonly parentNodeId?: string | null
  readonly endedAt?: number | null
  readonly wakeAt?: number | null
  readonly fork?: CheckedFork | null
  /** Hash of the last event. */
  readonly head?: string
}

export type CheckedFork = {
  readonly sourceRunId: string
  /** Events before this sequence are the source's. */
  readonly fromSeq: number
  readonly mode: 'replay' | 'branch'
  /** Events the source had when the fork was made. */
  readonly sourceLength: number
}

export type CheckedEvent = {
  readonly sequence: number
  /** `<runId>:<sequence>` when absent. */
  readonly eventId?: string
  readonly type: string
  readonly nodeId?: string | null
  readonly payload: unknown
  readonly secret?: unknown
  readonly causationId?: string | null
  readonly at: number
  readonly epoch?: number
  /** Only stores have it. */
  readonly link?: CheckedLink
}

/** The link of the hash chain, with what it covers besides the event’s own columns: the texts as the row holds them. */
export type CheckedLink = {
  readonly payload: string
  readonly secret: string | null
  readonly cause: number | null
  /** The id of an event of another host, where that is the cause. */
  readonly foreignCause?: string | null
  readonly input: string | null
  /** Null on events whose link is of the older form, which covers the texts themselves. */
  readonly salt: string | null
  /** Empty on events that are older than the chain. */
  readonly hash: string
}

export type CheckedInvocation = {
  readonly id: string
  readonly nodeId: string
  /** The effect's place within its node: `3`, or `3.2` for the second step of the third. */
  readonly ordinal: number | string
  readonly provider: string
}

export type CheckedSnapshot = {
  readonly variables?: Fields
  readonly channels?: Fields
}

export type Finding = {
  readonly rule: string
  readonly runId: string
  readonly sequence?: number
  readonly message: string
}

/** A numbered promise about every log. `checks` reports each place where a log breaks it. */
export type Rule = {
  readonly id: string
  readonly title: string
  /** Where the promise comes from. */
  readonly source: string
  /** Holds for Assay's own logs only; other hosts of the protocol may do otherwise. */
  readonly assayOnly?: true
  checks(log: Log, report: Report): void
}

export type Report = (run: RunLog, message: string, event?: LoggedEvent) => void

/** The input, indexed once for all rules. */
export type Log = {
  readonly input: CheckInput
  readonly runs: readonly RunLog[]
  readonly byId: ReadonlyMap<string, RunLog>
}

export type RunLog = {
  readonly run: CheckedRun
  readonly events: readonly LoggedEvent[]
  readonly graph: Graph | undefined
  /** Payload of `run.started`; empty when there is none. */
  readonly started: Fields
  readonly parentRunId: string | undefined
  readonly parentNodeId: string | undefined
  readonly tenant: string | undefined
  /** Null: the run is no fork. Undefined: nobody said. */
  readonly fork: CheckedFork | null | undefined
  /** Sequence of the first event that is not shared with another run. */
  readonly ownFrom: number
}

export type LoggedEvent = {
  readonly raw: CheckedEvent
  readonly id: string
  readonly sequence: number
  readonly type: string
  readonly at: number
  readonly node: string | undefined
  /** The payload when it is an object, else empty. */
  readonly payload: Fields
}

export type Fields = { readonly [key: string]: unknown }

/** Told of another run: before the cut of a fork, or anywhere in a replay, which calls nobody and has no children. */
export const isRetold = ({ fork, ownFrom }: RunLog, event: LoggedEvent): boolean =>
  fork?.mode === 'replay' || event.sequence < ownFrom

/** Whether the run was started by an engine of an earlier version of the rules; they hold for it as they were then. */
export const isBefore = ({ started }: RunLog, version: number): boolean => !(Number(started.engineVersion) >= version)

/** A rule that looks at one run at a time. */
export const eachRun =
  (check: (run: RunLog, say: (message: string, event?: LoggedEvent) => void, log: Log) => void): Rule['checks'] =>
  (log, report) => {
    for (const run of log.runs) check(run, (message, event) => report(run, message, event), log)
  }
