// Commits runs to the SQLite file named on the command line and prints the id of each that was acknowledged.
import { randomUUID } from 'node:crypto'
import { openSqliteStore } from '../../dist/store/sqlite/sqlite-store.js'

const store = await openSqliteStore(process.argv[2])
const hostId = randomUUID()
await store.registerHost({ hostId, hostName: 'child', leaseMs: 60_000, now: Date.now() })

const create = {
  tenant: 'acme',
  workflowId: 'wf',
  workflowDigest: 'digest',
  parentRunId: null,
  parentNodeId: null,
  scopeId: null,
  tags: [],
  exclusiveScope: false,
  fork: null,
  gated: [],
}

async function forever() {
  for (;;) {
    const runId = `run_${randomUUID()}`
    const events = [0, 1, 2, 3].map(sequence => ({
      sequence,
      type: 'log.appended',
      nodeId: null,
      payload: '{}',
      secret: null,
      cause: null,
      foreignCause: null,
      at: 1,
      input: null,
      salt: null,
      hash: '',
    }))
    const stream = { runId, expected: 0, epoch: 1, events, status: 'running', wakeAt: null, head: '', create }
    const result = await store.commit({ appendId: randomUUID(), hostId, streams: [stream], wakes: [] })
    if (result.kind !== 'committed') throw new Error(result.kind)
    process.stdout.write(`${runId}\n`)
  }
}

await Promise.all(Array.from({ length: 8 }, forever))
