import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { BatchWriter } from './batch-writer.js'
import { prepareDatabase } from './database-file.js'

let folder: string
let writer: BatchWriter
beforeAll(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'assay-batch-writer-'))
  const file = path.join(folder, 'assay.db')
  prepareDatabase(file)
  writer = new BatchWriter({ path: file, maxBytes: null })
  writer.run([['registerHost', { hostId: 'host', hostName: 'name', leaseMs: 60_000, now: Date.now() }]])
})
afterAll(() => {
  writer.close()
  rmSync(folder, { recursive: true })
})

const effect = { tenant: 'acme', runId: 'run', nodeId: 'a', ordinal: '0', provider: 'mail', hostId: 'host', at: 1 }
const claim = (token: string, id: string) =>
  writer.run([['claimEffect', { token, claim: { ...effect, id, attempt: 1 } }]])

test('a claim that is put twice, because its answer was lost, is answered as it was the first time', () => {
  const first = claim('first', 'new')
  expect(first.values).toEqual([{ kind: 'claimed', again: false }])
  expect(claim('first', 'new')).toEqual(first)
  claim('lost', 'abandoned')
  writer.run([['abandonEffect', { id: 'abandoned', hostId: 'host' }]])
  const second = claim('second', 'abandoned')
  expect(second.values).toEqual([{ kind: 'claimed', again: true }])
  expect(claim('second', 'abandoned')).toEqual(second)
})
