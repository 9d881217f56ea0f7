import { isNamed } from '../names.js'
import { type Failure, failure } from '../problem.js'

/** A workflow of another host, by the name that this one calls that host. */
export type PeerWork = { readonly peer: string; readonly workflowId: string }

export function peerWorkOf(workerId: string): PeerWork | undefined {
  const slash = workerId.indexOf('/')
  if (slash < 0 || !isNamed('workerId', workerId)) return undefined
  return { peer: workerId.slice(PREFIX.length, slash), workflowId: workerId.slice(slash + 1) }
}

export const workerAtPeer = ({ peer, workflowId }: PeerWork): string => `${PREFIX}${peer}/${workflowId}`

const PREFIX = 'peer:'

/** P8: how this host knows a run of a peer. No id of its own has a colon or a slash. */
export const peerRunId = (peer: string, runId: string): string => `${PREFIX}${peer}/${runId}`

/** The run as its own host knows it. */
export const foreignRunId = (childRunId: string): string => childRunId.slice(childRunId.indexOf('/') + 1)

/** Why a peer was not heard. */
export const SILENCES = [
  'unreachable',
  'timeout',
  'refused',
  'busy',
  'unusable',
  'too_large',
  'unknown_outcome',
] as const
export type Silence = (typeof SILENCES)[number]

/** Free of content, like all that is told of a peer. */
export type PeerTold = { nodeId: string; workerId: string; peer: string; childRunId?: string }

/** A hand-off that was given up, until its run is known to be at rest. */
export type LostPeer = PeerWork & {
  readonly nodeId: string
  /** Sequence of its `dispatch.began`, which names the effect that started it. */
  readonly began: number
  /** Sequence of its `assay.peer.lost`. */
  readonly lost: number
  readonly lostAt: number
  readonly childRunId?: string
}

export const peerLost = (peer: string, reason: Silence): Failure =>
  failure('peer_lost', `peer "${peer}" was not heard for too long; nothing of what it may still do is merged`, {
    retryable: false,
    details: { peer, reason },
  })
