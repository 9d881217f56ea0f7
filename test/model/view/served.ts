import type { JsonObject } from '../../../src/core/json.js'
import type { Fork } from '../../../src/core/replay/events.js'
import type { Recorded } from '../../../src/core/run/events.js'
import { evolve } from '../../../src/core/run/evolve.js'
import { type RunState, statusOf } from '../../../src/core/run/state.js'
import type { PublicEvent } from '../../../src/core/view/public-event.js'
import { compile, isPlan } from '../../../src/core/workflow/compile.js'
import { coreNodeTypes } from '../../../src/core/workflow/nodes/registry.js'
import type { Plan } from '../../../src/core/workflow/plan.js'
import type { ChildRow } from '../../../src/engine/ports/run-index.js'
import { encodeAll } from '../../../src/engine/log/encode.js'
import { waitingFor } from '../../../src/http/documents/run-snapshot.js'
import type { CheckedEvent, CheckedRun } from '../../../src/log-check/checked.js'
import { CountingIds } from '../../../src/testing/engine-rig.js'
import { renderEvent, renderSnapshot } from '../../../src/wire/render.js'

/** What the server sends of a run: its events, and the snapshot that it would have made after each of them. */
export type Served = { readonly events: readonly PublicEvent[]; readonly snapshots: readonly JsonObject[] }

export type Around = {
  readonly fork?: Fork | null
  readonly children?: readonly ChildRow[]
  /** What a reader who may answer is shown besides. */
  readonly link?: { readonly interruptToken: string; readonly callbackUrl: string }
}

export function served(plan: Plan, runId: string, log: readonly Recorded[], around: Around = {}): Served {
  const { fork = null, children = [], link } = around
  const events = encodeAll(log, '', new CountingIds()).map(row =>
    parsed<PublicEvent>(renderEvent(runId, row, { engineVersion: '1' })),
  )
  let state: RunState = fork === null ? { phase: 'absent' } : { phase: 'absent', fork }
  const snapshots = log.map(event => {
    state = evolve(plan, state, { ...event, runId })
    const view = { runId, plan, state, status: statusOf(state) } as Parameters<typeof renderSnapshot>[0]
    const asked = waitingFor(view)
    return parsed<JsonObject>(JSON.stringify(renderSnapshot(view, children, asked && { ...asked, ...link })))
  })
  return { events, snapshots }
}

const parsed = <T>(text: string): T => JSON.parse(text) as T

const NODE_TYPES = new Map(coreNodeTypes.map(type => [type.typeId, type]))

/** The same of a run as a store holds it. */
export function servedRun({ runId, definition, events, row }: CheckedRun): Served {
  const text = definition as Parameters<typeof compile>[0]
  const capabilities = new Set(['assay.conformance'])
  // It has been run, so it was accepted once: verifiers are runs of the host's own workflows.
  const plan = compile(text, 'digest', { nodeTypes: NODE_TYPES, capabilities, accepted: true })
  if (!isPlan(plan)) throw new Error(plan.message)
  return served(plan, runId, events.map(recorded), { fork: (row?.fork ?? null) as Fork | null })
}

const recorded = (event: CheckedEvent): Recorded => {
  const { sequence, type, nodeId, payload, secret, causationId, at } = event
  const cause =
    causationId === null || causationId === undefined ? {} : { cause: Number(causationId.split(':').at(-1)) }
  return {
    sequence,
    type,
    ...(nodeId === null ? {} : { nodeId }),
    payload,
    ...(secret === undefined || secret === null ? {} : { secret }),
    ...cause,
    at,
  } as unknown as Recorded
}
