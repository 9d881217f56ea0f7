import fs from 'node:fs'
import path from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
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

test('a tenant is erased by one command, and what is left of it verifies', async () => {
  const key = (await server.assay('keys', 'create', '--tenant', 'beta')).stdout.trim()
  const { runId } = (await server.json('run', 'hello', '--wait', '--key', key)).value
  expect((await server.assay('tenants', 'show', 'beta')).stdout).toBe('beta active\n')

  const unsure = await server.assay('tenants', 'erase', 'beta')
  expect([unsure.code, unsure.stderr]).toEqual([2, expect.stringContaining('--yes')])
  const own = await server.assay('tenants', 'erase', 'default', '--yes')
  expect([own.code, own.stderr]).toEqual([2, expect.stringContaining('[tenant_in_use]')])
  expect((await server.assay('runs', 'get', runId, '--key', key)).code).toBe(0)

  const erased = await server.assay('tenants', 'erase', 'beta', '--yes')
  expect([erased.code, erased.stdout]).toEqual([0, expect.stringMatching(/^beta erased since 20/)])
  expect((await server.assay('runs', 'get', runId, '--key', key)).stderr).toContain('[unauthenticated]')
  const again = await server.assay('keys', 'create', '--tenant', 'beta')
  expect([again.code, again.stderr]).toEqual([2, expect.stringContaining('[tenant_erased]')])

  const verified = await server.assay('verify', '--integrity', '--all')
  expect([verified.code, verified.stdout]).toEqual([0, expect.stringContaining('intact, content of 1 runs erased')])
})
