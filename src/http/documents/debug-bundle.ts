import type { Json } from '../../core/json.js'
import type { InspectedRun } from '../../engine/api.js'
import type { ChildRow } from '../../engine/ports/run-index.js'
import { BUNDLE_VERSION } from '../../wire/debug-bundle.js'
import { redactPayload, redactSnapshot, type Scrub, scrubber } from '../../wire/redact.js'
import { renderEvent, renderSnapshot } from '../../wire/render.js'
import type { Edge } from '../deps.js'
import { IMPLEMENTATION } from '../discovery/discovery.js'
import { pagedLog } from '../streaming/paged-log.js'
import { waitingFor } from './run-snapshot.js'

type Bounds = { readonly maxEvents: number; readonly maxBytes: number }

type Fitting = { readonly docs: readonly string[]; readonly cut?: string }

/**
 * Everything needed to see what went wrong with a run, and nothing of what it was about. At most `maxBytes` long; the log is
 * read page by page, and no further than fits.
 */
export async function renderBundle(
  edge: Edge,
  view: InspectedRun,
  children: readonly ChildRow[],
  bounds: Bounds,
): Promise<string> {
  const scrub = scrubber(contentOf(view))
  const head = {
    bundleVersion: BUNDLE_VERSION,
    generatedAt: new Date(edge.clock.now()).toISOString(),
    host: { ...IMPLEMENTATION, version: edge.config.version },
    run: redactSnapshot(renderSnapshot(view, children, waitingFor(view)), scrub),
    spans: [],
    redactionApplied: true,
    redactionMode: 'mask',
  }
  const { docs, cut } = await fitting(edge, view, scrub, {
    ...bounds,
    maxBytes: bounds.maxBytes - Buffer.byteLength(JSON.stringify(head)) - ROOM_FOR_THE_REST,
  })
  const tail = {
    metrics: { openwopCost: null, nodeCount: view.plan.nodes.length, eventCount: docs.length },
    ...(cut === undefined ? {} : { truncated: true, truncatedReason: cut }),
  }
  return `${JSON.stringify(head).slice(0, -1)},"events":[${docs.join(',')}],${JSON.stringify(tail).slice(1)}`
}

/** Metrics, the note on what was cut, and punctuation. */
const ROOM_FOR_THE_REST = 512

/** Events from the first on, until the next would be one too many. */
async function fitting(edge: Edge, view: InspectedRun, scrub: Scrub, bounds: Bounds): Promise<Fitting> {
  const docs: string[] = []
  let bytes = 0
  for await (const event of pagedLog(edge, view, 0)) {
    if (docs.length >= bounds.maxEvents) return { docs, cut: 'events_truncated_to_max_events' }
    const payload = JSON.stringify(redactPayload(JSON.parse(event.payload) as Json, scrub))
    const doc = renderEvent(view.runId, { ...event, payload }, edge)
    bytes += Buffer.byteLength(doc) + 1
    if (bytes > bounds.maxBytes) return { docs, cut: 'events_truncated_to_size_cap' }
    docs.push(doc)
  }
  return { docs }
}

/** What the run was given and what it made of it, masked or not: a message may quote any of it. */
function contentOf({ state }: InspectedRun): Json[] {
  if (state.phase === 'absent') return []
  const { started, secretInputs, variables, channels } = state
  return [started.inputs, secretInputs, variables, channels, started.configurable ?? null, started.metadata ?? null]
}
