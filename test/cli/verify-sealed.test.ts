import fs from 'node:fs'
import path from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { Connection } from '../../src/store/sqlite/connection.js'
import { type Server, startServer, temporaryFolder } from './assay-process.js'

let folder: string
let server: Server

beforeAll(async () => {
  folder = temporaryFolder()
  server = await startServer(path.join(folder, 'data'))
})

afterAll(async () => {
  await server.stop()
  fs.rmSync(folder, { recursive: true })
})

test('what is sealed is checked by the server, and what was changed since is named', async () => {
  expect(await server.assay('verify', '--sealed')).toMatchObject({ code: 0, stdout: '0 checkpoints: intact\n' })
  const { runId } = (await server.json('run', 'hello', '--wait')).value
  await expect
    .poll(async () => (await server.json('verify', '--sealed')).value, { timeout: 20_000 })
    .toEqual({ checkpoints: 1, chainValid: true, checkpointsValid: true, anomalies: [] })
  expect(await server.assay('verify', '--sealed')).toMatchObject({ code: 0, stdout: '1 checkpoints: intact\n' })

  const db = new Connection(path.join(server.data, 'assay.db'), 5_000, [])
  db.run('UPDATE events SET at = at + 1 WHERE run_id = ? AND seq = 1', runId)
  db.close()
  const found = await server.assay('verify', '--sealed')
  expect([found.code, found.stdout]).toEqual([1, `run ${runId}: event 1 was changed\n1 checkpoints: 1 anomalies\n`])
  const { value, code } = await server.json('verify', '--sealed')
  expect(code).toBe(1)
  expect(value).toMatchObject({ chainValid: false, checkpointsValid: true })
  expect(value.anomalies).toMatchObject([{ kind: 'event-changed', runId, sequence: 1 }])

  // Another tenant is told of checkpoints, and follows no log but its own.
  const other = (await server.assay('keys', 'create', '--tenant', 'beta', '--scopes', 'audit:read')).stdout.trim()
  const theirs = await server.assay('verify', '--sealed', '--key', other)
  expect([theirs.code, theirs.stdout]).toEqual([0, '1 checkpoints: intact\n'])
})

test.each([['some-run'], ['--all'], ['--file', 'x.json']])('--sealed takes no runs: %s', async (...more) => {
  const refused = await server.assay('verify', '--sealed', ...more)
  expect([refused.code, refused.stderr]).toEqual([2, expect.stringContaining('--sealed takes no runs')])
})
