// Times of what the store does with journals of several lengths, each in a database of its own: `node bench/journal-probe.mjs
// '{"databases": {"1000": "sqlite:…", …}, "rounds": 20}'`. All are open in one process, and every round asks one after the
// other, so that what the machine does meanwhile touches all alike. Prints a JSON line: medians in microseconds, by
// operation and length.
import { createHash, randomUUID } from 'node:crypto'
import { openStore } from '../dist/store/open-store.js'

const { databases, rounds } = JSON.parse(process.argv[2])
const TENANT = 'default'
const SCOPE = 'bench'
/** Calls of an operation in a round, and after how long no more of them are made. */
const CALLS = 10
const PATIENCE_MS = 150

async function opened(n, url) {
  const store = await openStore(url)
  const hostId = randomUUID()
  await store.registerHost({ hostId, hostName: `bench-${n}`, leaseMs: 3_600_000, now: Date.now() })
  const one = { n, store, hostId, runId: `probe-${randomUUID()}`, length: 0, written: 0 }
  await append(one, [event('run.started', null, '{}', null), event('node.started', 'n1', '{}', null)])
  return one
}

const event = (type, nodeId, payload, secret) => ({ type, nodeId, payload, secret })

async function append(one, events) {
  const { store, hostId, runId, length } = one
  const run = { workflowId: 'wf', workflowDigest: 'd', parentRunId: null, parentNodeId: null, scopeId: null, tags: [] }
  const create = { ...run, tenant: TENANT, exclusiveScope: false, fork: null, gated: [] }
  const stored = events.map((given, i) => ({
    sequence: length + i,
    cause: null,
    foreignCause: null,
    at: Date.now(),
    input: null,
    salt: 'salt',
    hash: `hash-${length + i}`,
    erased: null,
    ...given,
  }))
  const head = `hash-${length + events.length - 1}`
  const stream = { runId, expected: length, epoch: null, events: stored, status: 'running', wakeAt: null, head }
  const streams = [{ ...stream, ...(length === 0 ? { create } : {}) }]
  const result = await store.commit({ appendId: randomUUID(), hostId, streams, wakes: [] })
  if (result.kind !== 'committed') throw new Error(`not committed: ${JSON.stringify(result)}`)
  one.length += events.length
}

/** A put as a run does it: the content first, then the event that tells of it. */
async function put(one, id) {
  const text = `note everything written ${id}`
  const body = new TextEncoder().encode(text)
  const contentId = randomUUID()
  await one.store.keepContent({ contentId, tenant: TENANT, runId: one.runId, body, text, sealed: false, pieces: 0 })
  const hash = createHash('sha256').update(body).digest('hex')
  const key = { space: 'memory', scope: SCOPE, since: 1, ref: 'notes', id, op: 'put', tags: [], expiresAt: null }
  const secret = { ...key, contentId, hash, bytes: body.length, contentType: null, ifMatch: null, seen: 0 }
  const payload = { memoryRef: 'notes', memoryId: id, nodeId: 'n1' }
  await append(one, [event('memory.written', 'n1', JSON.stringify(payload), JSON.stringify(secret))])
}

const newest = () => ({ scope: SCOPE, upTo: Number.MAX_SAFE_INTEGER, runs: [] })
/** A tenth of the way: all that was there then has been superseded since. */
const old = n => ({ scope: SCOPE, upTo: n / 10, runs: [] })
const middle = n => ({ scope: SCOPE, upTo: n / 2, runs: [] })
/** Keys in no order; `i % 10` says of which kind. Those below `most` are there. */
const some = (i, most) => `k${(i * 7919 * 10 + 2) % most}`

const entry = (reach, key) => async (one, i) =>
  found(await one.store.entryAt(TENANT, 'memory', reach(one.n), key(one.n, i)))
const list = (reach, query) => async one =>
  full(await one.store.entriesAt(TENANT, 'memory', reach(one.n), { limit: 50, ...query }), query)
const search =
  (reach, words, atLeast = 1) =>
  async one => {
    const rows = await one.store.searchAt(TENANT, 'memory', reach(one.n), { words, limit: 20 })
    if (rows.length < atLeast) throw new Error(`${words.join(' ')}: found ${rows.length}`)
  }
function found(row) {
  if (row === undefined) throw new Error('an entry is missing')
}
function full({ rows }, { ref }) {
  if (rows.length < (ref === 'state' ? 1 : 5)) throw new Error(`a list has ${rows.length} rows`)
}

const keyOf = (n, i) => ({ ref: 'notes', id: some(i, n / 2) })
const oldKey = (n, i) => ({ ref: 'notes', id: some(i, n / 10) })
const hot = () => ({ ref: 'state', id: 'hot' })

/** Writes are last: what they add is behind the anchors of no read but the newest. */
const OPERATIONS = {
  'heads of the scopes': one => one.store.heads(TENANT, SCOPE),
  'entry, newest anchor': entry(newest, keyOf),
  'entry, old anchor': entry(old, oldKey),
  'entry with n/10 versions, newest anchor': entry(newest, hot),
  'entry with n/10 versions, old anchor': entry(old, hot),
  'list of 50, newest anchor': list(newest, {}),
  'list of 50, anchor in the middle': list(middle, {}),
  'list of 50, old anchor': list(old, {}),
  'list of 50 under a ref, newest anchor': list(newest, { ref: 'plans' }),
  'list of 50 under a ref, old anchor': list(old, { ref: 'plans' }),
  'list of 50 with a prefix that a tenth has, newest anchor': list(newest, { ref: 'notes', prefix: 'k4' }),
  'list of 50 with a prefix that a tenth has, old anchor': list(old, { ref: 'notes', prefix: 'k4' }),
  'list of 9 with a prefix, newest anchor': one => list(newest, { ref: 'notes', prefix: `k${one.n / 20 - 1}` })(one),
  'list of a ref with one key of n/10 versions, newest anchor': list(newest, { ref: 'state' }),
  'list of a ref with one key of n/10 versions, old anchor': list(old, { ref: 'state' }),
  'search, word of one key of n/10 versions, newest anchor': search(newest, ['often']),
  'search, word of one key of n/10 versions, old anchor': search(old, ['often']),
  'search, word in 20 texts, newest anchor': search(newest, ['scarce']),
  'search, word in 20 texts, old anchor': search(old, ['scarce']),
  'search, word in all texts, newest anchor': search(newest, ['note']),
  'search, word in all texts, old anchor': search(old, ['note']),
  'search, both words, newest anchor': search(newest, ['everything', 'scarce']),
  'search, both words, old anchor': search(old, ['everything', 'scarce']),
  'search, word in no text': search(newest, ['nowhere'], 0),
  'write of a new key': (one, i) => put(one, `new-${i}`),
  'write over an old key': (one, i) => put(one, some(i, one.n / 2)),
}

const median = numbers => numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 2)]

const all = await Promise.all(Object.entries(databases).map(([n, url]) => opened(Number(n), url)))
const result = {}
let turn = 0
for (const [name, operation] of Object.entries(OPERATIONS)) {
  const times = new Map(all.map(one => [one, []]))
  // The first round warms up.
  for (let round = 0; round <= rounds; round += 1)
    for (const one of round % 2 === 0 ? all : all.toReversed()) {
      const patience = performance.now() + PATIENCE_MS
      for (let call = 0; call < CALLS && performance.now() < patience; call += 1) {
        turn += 1
        const began = performance.now()
        await operation(one, turn)
        if (round > 0) times.get(one).push((performance.now() - began) * 1000)
      }
    }
  result[name] = Object.fromEntries(all.map(one => [one.n, Math.round(median(times.get(one)))]))
}
console.log(JSON.stringify(result))
for (const { store } of all) await store.close()
