import type { Json } from '../../core/json.js'
import type { ArtifactCreated, ArtifactSecret } from '../../core/run/events.js'
import type { Artifacts } from '../ports/agents.js'
import type { StoredEvent } from '../ports/event-log.js'
import type { Store } from '../ports/store.js'

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
      return artifactIn(event, artifactId)?.shown
    },
  }
}

/** The event that an artifact's id names; undefined when it is no such id. */
export function sequenceOf(artifactId: string): number | undefined {
  const digits = /^art-(0|[1-9][0-9]{0,14})$/.exec(artifactId)?.[1]
  return digits === undefined ? undefined : Number(digits)
}

type Artifact = {
  readonly artifactType: string
  readonly nodeId: string | null
  readonly at: number
  readonly content: Json
  /** The content without what the run's log must not show. */
  readonly shown: Json
}

/** The artifact of that id, if this is the event that holds it. */
export function artifactIn(event: StoredEvent | undefined, artifactId: string): Artifact | undefined {
  if (event?.type !== 'artifact.created' || event.sequence !== sequenceOf(artifactId)) return undefined
  const { artifactType } = JSON.parse(event.payload) as ArtifactCreated
  const { content = null, shown = content } = JSON.parse(event.secret ?? '{}') as Partial<ArtifactSecret>
  return { artifactType, nodeId: event.nodeId, at: event.at, content, shown }
}
