import type { StoredEvent } from '../../../src/engine/ports/event-log.js'
import type { Store } from '../../../src/engine/ports/store.js'
import { CHAIN_START, chainHash } from '../../../src/engine/log/chain.js'
import * as f from '../../contract/store/fixtures.js'

/** The events with the hashes a host would have given them. */
export function chained(events: readonly StoredEvent[], previous = CHAIN_START): StoredEvent[] {
  let head = previous
  return events.map(event => {
    head = chainHash(head, event)
    return { ...event, hash: head }
  })
}

export const headOf = (events: readonly StoredEvent[]): string => events.at(-1)?.hash ?? CHAIN_START

const content = (sequence: number, of = 'event'): StoredEvent =>
  f.event(sequence, {
    payload: `{"text":"${of} number ${sequence}"}`,
    secret: `{"kept":${sequence}}`,
    input: `{"told":${sequence}}`,
  })

/** A log of `length` events that ends with the run, or goes on. */
export const log = (length: number, ending: 'ended' | 'open' = 'ended'): StoredEvent[] =>
  chained(
    Array.from({ length }, (_, i) =>
      i === length - 1 && ending === 'ended' ? { ...content(i), type: 'run.completed' } : content(i),
    ),
  )

type Written = { readonly runId: string; readonly events: readonly StoredEvent[]; readonly tenant?: string }

export async function write(store: Store, hostId: string, { runId, events, tenant = 'acme' }: Written): Promise<void> {
  const status = events.at(-1)?.type === 'run.completed' ? 'completed' : 'running'
  const stream = f.creation(runId, { events, status, head: headOf(events) }, { tenant })
  const result = await store.commit(f.commit(hostId, [stream]))
  if (result.kind !== 'committed') throw new Error(result.kind)
}

type Forked = { readonly runId: string; readonly source: string; readonly fromSeq: number; readonly length: number }

/** A fork that goes on by itself to `length` events, the last of which ends it. */
export async function writeFork(store: Store, hostId: string, fork: Forked): Promise<void> {
  const { runId, source, fromSeq, length } = fork
  const shared = (await store.readEvents(source, 0)).slice(0, fromSeq)
  const sourceLength = (await store.readRun(null, source))!.length
  const own = Array.from({ length: length - fromSeq }, (_, i) => content(fromSeq + i, 'forked'))
  const events = chained([...own.slice(0, -1), { ...own.at(-1)!, type: 'run.completed' }], headOf(shared))
  const stream = f.creation(
    runId,
    { expected: fromSeq, events, status: 'completed', head: headOf(events) },
    { fork: { sourceRunId: source, fromSeq, mode: 'branch', sourceLength } },
  )
  const result = await store.commit(f.commit(hostId, [stream]))
  if (result.kind !== 'committed') throw new Error(result.kind)
}
