import { ENGINE_VERSION } from '../../src/core/run/version.js'
import type { Commit } from '../../src/engine/ports/event-log.js'
import type { Content } from '../../src/engine/ports/journal.js'
import type { Store } from '../../src/engine/ports/store.js'
import { type History, type RecordedAppend, type RecordedContent, runsOf } from './history.js'
import { changesOf, snapshotsOf } from './snapshots.js'
import type { Story } from './stories/index.js'
import { untilOver } from './world.js'

/** Tells a story once and keeps everything that became durable. */
export async function record(name: string, { open, tell }: Story): Promise<History> {
  const commits: (readonly RecordedAppend[])[] = []
  const contents = new Map<string, RecordedContent>()
  const watch = (store: Store): Store =>
    new Proxy(store, {
      get: (target, property) => {
        const value = Reflect.get(target, property)
        if (typeof value !== 'function') return value
        if (property === 'keepContent')
          return async (content: Content) => {
            await target.keepContent(content)
            const body = Buffer.from(content.body).toString('base64')
            if (!contents.has(content.contentId)) contents.set(content.contentId, { ...content, body })
          }
        if (property !== 'commit') return value.bind(target)
        return async (commit: Commit) => {
          const result = await target.commit(commit)
          if (result.kind === 'committed' && commit.streams.length > 0) commits.push(commit.streams.map(appendOf))
          return result
        }
      },
    })
  const world = await open(undefined, watch)
  try {
    await tell(world)
    await untilOver(world)
    const history = { story: name, engineVersion: ENGINE_VERSION, commits, definitions: {}, snapshots: {} }
    const runs = runsOf(history)
    const digests = [...new Set(runs.map(({ create }) => create!.workflowDigest))]
    const definitions = Object.fromEntries(
      await Promise.all(digests.map(async digest => [digest, (await world.store.getDefinition(digest))!] as const)),
    )
    const kept = contents.size > 0 ? { contents: [...contents.values()] } : {}
    const whole = { ...history, definitions, ...kept }
    const snapshots = Object.fromEntries(runs.map(run => [run.runId, changesOf(snapshotsOf(whole, run))]))
    return { ...whole, snapshots }
  } finally {
    await world.stop()
  }
}

const appendOf = ({ snapshot: _snapshot, epoch: _epoch, ...append }: Commit['streams'][number]): RecordedAppend =>
  append
