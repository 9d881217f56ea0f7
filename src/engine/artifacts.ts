import type { Json } from '../core/json.js'
import type { ArtifactCreated, ArtifactSecret } from '../core/run/event.js'
import type { Artifacts } from './agent-ports.js'
import type { Store, StoredEvent } from './ports.js'

/** Events that are looked through at once. */
const PAGE = 256

/** The artifacts that logs hold (decision 4), for the agents of the same run. */
export function artifactsIn(store: Pick<Store, 'readRun' | 'readEvents'>): Artifacts {
  const isVisible = async (tenant: string, runId: string) => (await store.readRun(tenant, runId)) !== undefined
  return {
    async list(tenant, runId) {
      const found: ArtifactCreated[] = []
      if (!(await isVisible(tenant, runId))) return found
      for (let from = 0; ; from += PAGE) {
        const events = await store.readEvents(runId, from, PAGE)
        for (const event of events)
          if (event.type === 'artifact.created') found.push(JSON.parse(event.payload) as ArtifactCreated)
        if (events.length < PAGE) return found
      }
    },
    async read(tenant, runId, artifactId) {
      const sequence = sequenceOf(artifactId)
      if (sequence === undefined || !(await isVisible(tenant, runId))) return undefined
      const [event] = await store.readEvents(runId, sequence, 1)
      const secret = artifactIn(event, sequence)?.secret
      return secret?.shown ?? secret?.content
    },
  }
}

/** The event that an artifact's id names; undefined when it is no such id. */
export function sequenceOf(artifactId: string): number | undefined {
  const digits = /^art-(0|[1-9][0-9]{0,14})$/.exec(artifactId)?.[1]
  return digits === undefined ? undefined : Number(digits)
}

/** What the event at `sequence` says of an artifact; undefined when it is not about one. */
export function artifactIn(
  event: StoredEvent | undefined,
  sequence: number,
): { readonly made: ArtifactCreated; readonly secret: ArtifactSecret } | undefined {
  if (event?.sequence !== sequence || event.type !== 'artifact.created') return undefined
  const secret = JSON.parse(event.secret ?? '{"content":null}') as ArtifactSecret
  return { made: JSON.parse(event.payload) as ArtifactCreated, secret }
}
