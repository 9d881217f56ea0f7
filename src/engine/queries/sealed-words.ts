import { isObject, type Json, type JsonObject } from '../../core/json.js'
import type { InspectedRun, RunEngine } from '../api.js'
import type { TenantVault, Vault } from '../ports/agents.js'
import type { StoredEvent } from '../ports/event-log.js'
import type { Store } from '../ports/store.js'
import { TenantErased } from '../ports/tenants.js'
import { effectIdentity } from '../runtime/effect-identity.js'

export type SealedDeps = {
  readonly engine: Pick<RunEngine, 'inspect' | 'readEvents'>
  readonly store: Pick<Store, 'readEffect'>
  readonly vault: Vault
}

/** Where an agent's work stands at an event of the log. */
export type WorkAt = {
  readonly invocation?: InvocationAt
  /** The call of the model that led to this event. */
  readonly request?: { readonly call: number; readonly attempt: number }
  /** Where the words are kept that asked for tools last. */
  readonly round?: string
}

type InvocationAt = {
  readonly nodeId: string
  readonly contents: string
  readonly agentId: string
  readonly provider: string
  readonly model: string
  /** Undefined where its brief is of no run that this one goes back to. */
  readonly ordinal: number | undefined
}

/** What was kept of an effect: what its run was told and its contents, or why it did not succeed; or why it is not there. */
export type KeptWords =
  | { readonly ok: true; readonly told: JsonObject; readonly contents: JsonObject }
  | { readonly ok: false; readonly code: string; readonly message: string }
  | { readonly ok: 'missing'; readonly why: 'purged' | 'erased' | 'unreadable' }

export type SealedWords = {
  /** Takes the next event of the log, and says where it stands. */
  note(event: StoredEvent): WorkAt
  /** The words under this id. */
  open(id: string | undefined): Promise<KeptWords>
  /** What a call of a model has brought. */
  reply(at: WorkAt): Promise<KeptWords>
}

/** Forks of forks that are looked through for whose call it was. */
const MAX_LINEAGE = 32
const PURGED: KeptWords = { ok: 'missing', why: 'purged' }

/**
 * Opens what the effects of agents have left. Where an answer stands, the log does not say under which id its words are
 * kept: that is made again from what the call was, under the run that made it.
 */
export async function sealedWords({ engine, store, vault }: SealedDeps, view: InspectedRun): Promise<SealedWords> {
  const { tenant } = view
  const runIds = await lineageOf(engine, view)
  let opening: Promise<TenantVault> | undefined

  async function open(id: string | undefined): Promise<KeptWords> {
    const stored = id === undefined ? undefined : await store.readEffect(id)
    if (id === undefined || !isObject(stored ?? null)) return PURGED
    try {
      opening ??= vault.of(tenant)
      return (await opening).open(id, String((stored as JsonObject).sealed)) as unknown as KeptWords
    } catch (error) {
      return { ok: 'missing', why: error instanceof TenantErased ? 'erased' : 'unreadable' }
    }
  }

  return {
    note: placing(tenant, runIds),
    open,
    async reply({ invocation, request }) {
      if (invocation?.ordinal === undefined || request === undefined) return PURGED
      const { nodeId, ordinal, provider } = invocation
      for (const runId of runIds) {
        const kept = await open(effectIdentity(tenant, runId, nodeId, `${ordinal}.${request.call}`, provider))
        if (kept !== PURGED) return kept
      }
      return PURGED
    },
  }
}

/** The run, and those it is a fork of: what they share was done under the name of whoever did it. */
async function lineageOf(engine: SealedDeps['engine'], view: InspectedRun): Promise<readonly string[]> {
  const runIds = [view.runId]
  let state: InspectedRun['state'] | undefined = view.state
  while (runIds.length < MAX_LINEAGE) {
    if (state === undefined || state.phase === 'absent' || state.fork === undefined) break
    const sourceRunId: string = state.fork.sourceRunId
    runIds.push(sourceRunId)
    state = (await engine.inspect(view.tenant, sourceRunId))?.state
  }
  return runIds
}

/** How far each node is, told event by event. */
function placing(tenant: string, runIds: readonly string[]): (event: StoredEvent) => WorkAt {
  const nodes = new Map<string, NodeAt>()
  const ordinalOf = (nodeId: string, { starts, ordinal }: NodeAt, agentId: string, contents: string) => {
    for (let tried = ordinal; tried <= starts; tried += 1)
      for (const runId of runIds)
        if (effectIdentity(tenant, runId, nodeId, tried, `agent:${agentId}`) === contents) return tried
    return undefined
  }
  return event => {
    const { nodeId, type } = event
    if (nodeId === null) return {}
    const node: NodeAt = nodes.get(nodeId) ?? { starts: 0, ordinal: 0, requests: new Map() }
    nodes.set(nodeId, node)
    if (type === 'node.started' || type === 'assay.rework.began') node.starts += 1
    if (type === 'agent.invocation.started') {
      const begun = briefIn(event)
      node.requests.clear()
      delete node.round
      if (begun) {
        const ordinal = ordinalOf(nodeId, node, begun.agentId, begun.contents)
        node.ordinal = ordinal ?? node.ordinal
        node.invocation = { ...begun, nodeId, ordinal }
      }
    }
    if (type === 'assay.model.requested') {
      const { call, attempt } = JSON.parse(event.payload) as { call: number; attempt: number }
      node.requests.set(event.sequence, { call, attempt })
    }
    if (type === 'provider.usage') node.round = roundIn(event) ?? node.round
    const { invocation, round } = node
    const request = node.requests.get(event.cause ?? -1)
    return { ...(invocation && { invocation }), ...(request && { request }), ...(round !== undefined && { round }) }
  }
}

type NodeAt = {
  starts: number
  /** Of the invocation found last: they rise. */
  ordinal: number
  invocation?: InvocationAt
  round?: string | undefined
  /** By the sequence of the event that told them. */
  readonly requests: Map<number, { readonly call: number; readonly attempt: number }>
}

const hiddenIn = ({ secret }: StoredEvent): JsonObject => (secret === null ? {} : (JSON.parse(secret) as JsonObject))

function briefIn(event: StoredEvent): Omit<InvocationAt, 'nodeId' | 'ordinal'> | undefined {
  const { brief = null, contents } = hiddenIn(event)
  if (!isObject(brief) || typeof contents !== 'string') return undefined
  const { agentId, provider, model } = brief as { agentId: string; provider: string; model: string }
  return { contents, agentId, provider, model }
}

function roundIn(event: StoredEvent): string | undefined {
  const { contents, wanted = [] } = hiddenIn(event) as { contents?: string; wanted?: Json }
  return Array.isArray(wanted) && wanted.length > 0 ? contents : undefined
}
