import fs from 'node:fs'
import path from 'node:path'
import type { JsonObject } from '../../src/core/json.js'
import type { StreamAppend } from '../../src/engine/ports/event-log.js'
import type { Content } from '../../src/engine/ports/journal.js'
import type { Store } from '../../src/engine/ports/store.js'

/**
 * A recorded history: everything that hosts of one `engineVersion` made durable while a story was told, commit by
 * commit, with what a reader saw of each run after each of its events. A file is recorded once and never edited.
 */
export type History = {
  readonly story: string
  readonly engineVersion: string
  /** Definitions of workflows, as text, by digest. */
  readonly definitions: { readonly [digest: string]: string }
  /** What was written down, which events only name; absent where nothing was. */
  readonly contents?: readonly RecordedContent[]
  /** Prefixes of this list are the moments at which a host can die. */
  readonly commits: readonly (readonly RecordedAppend[])[]
  /** By run: the wire snapshot after each event, as what changed in it. */
  readonly snapshots: { readonly [runId: string]: readonly SnapshotChange[] }
}

/** What one commit added to one run, without the fold that a store may keep beside it. */
export type RecordedAppend = Omit<StreamAppend, 'snapshot' | 'epoch'>

/** Words of memory, or a file; the body in base64. */
export type RecordedContent = Omit<Content, 'body'> & { readonly body: string }

/** Top-level fields of a snapshot that are new or other than before, and those that are gone. */
export type SnapshotChange = { readonly set: JsonObject; readonly unset?: readonly string[] }

/** Where a history of an older engine may differ under today's rules, and why. Stands beside it as `NAME.departures.json`. */
export type Departure = {
  readonly runId: string
  readonly sequence: number
  readonly what: 'snapshot' | 'replay'
  readonly reason: string
}

const folder = import.meta.dirname

export const fileOf = (story: string, engineVersion: string): string =>
  path.join(folder, `${story}.v${engineVersion}.json`)

/** Every history there is, by the name of its file. */
export const readHistories = (): ReadonlyMap<string, History> =>
  new Map(
    fs
      .readdirSync(folder)
      .filter(name => /\.v[^.]+\.json$/.test(name))
      .sort()
      .map(name => [name, asRows(read<History>(path.join(folder, name))!)]),
  )

/** With the columns that came later: of rows that were there before they hold nothing. */
const asRows = (history: History): History => ({
  ...history,
  commits: history.commits.map(commit =>
    commit.map(append => ({
      ...append,
      events: append.events.map(event => ({ ...event, foreignCause: event.foreignCause ?? null })),
    })),
  ),
  ...(history.contents && {
    contents: history.contents.map(content => ({ ...content, pieces: content.pieces ?? 0 })),
  }),
})

export const departuresFileOf = (name: string): string => path.join(folder, name.replace(/\.json$/, '.departures.json'))

export const departuresOf = (name: string): readonly Departure[] => read(departuresFileOf(name)) ?? []

function read<T>(file: string): T | undefined {
  return fs.existsSync(file) ? (JSON.parse(fs.readFileSync(file, 'utf8')) as T) : undefined
}

/** One commit per line: a file of them can be looked at, and grows by lines. */
export function writeHistory(file: string, history: History): void {
  const { commits, snapshots, ...head } = history
  const lines = (items: readonly unknown[]) => items.map(item => JSON.stringify(item)).join(',\n')
  const seen = Object.entries(snapshots).map(([runId, changes]) => `${JSON.stringify(runId)}:[\n${lines(changes)}]`)
  const opening = JSON.stringify(head).slice(0, -1)
  fs.writeFileSync(file, `${opening},\n"commits":[\n${lines(commits)}],\n"snapshots":{\n${seen.join(',\n')}}}\n`, {
    flag: 'wx',
  })
}

/** All runs of a history, in the order of their creation, each with all of its own events. */
export function runsOf({ commits }: History): readonly RecordedAppend[] {
  const runs = new Map<string, RecordedAppend>()
  for (const append of commits.flat()) {
    const before = runs.get(append.runId)
    runs.set(append.runId, before === undefined ? append : { ...before, events: [...before.events, ...append.events] })
  }
  return [...runs.values()]
}

/** As the store holds what hosts of earlier versions wrote: what they did not say is null. */
const asUpgraded = ({ create, ...append }: History['commits'][number][number]) => ({
  ...append,
  ...(create && {
    create: { ...create, gated: create.gated?.map(point => ({ ...point, confirm: point.confirm ?? null })) },
  }),
})

/**
 * Makes the first `count` commits durable in an empty store, as by a host that is no longer there. Tells when the last of
 * it happened.
 */
export async function load(history: History, store: Store, count = history.commits.length): Promise<number> {
  const hostId = 'host-of-the-recording'
  const now = 0
  for (const [digest, definition] of Object.entries(history.definitions)) {
    const { id: workflowId } = JSON.parse(definition) as { readonly id: string }
    await store.putWorkflow({ tenant: null, workflowId, digest, definition, updatedAt: now })
  }
  for (const { body, ...content } of history.contents ?? [])
    await store.keepContent({ ...content, body: Buffer.from(body, 'base64') })
  await store.registerHost({ hostId, hostName: hostId, leaseMs: Number.MAX_SAFE_INTEGER, now })
  const commits = history.commits.slice(0, count)
  for (const [i, appends] of commits.entries()) {
    const streams = appends.map(append => ({ ...asUpgraded(append), epoch: null }))
    const result = await store.commit({ appendId: `append-${i}`, hostId, streams, wakes: [] })
    if (result.kind !== 'committed') throw new Error(`commit ${i} of ${history.story}: ${result.kind}`)
  }
  await store.releaseHost(hostId)
  return Math.max(0, ...commits.flat().flatMap(({ events }) => events.map(({ at }) => at)))
}
