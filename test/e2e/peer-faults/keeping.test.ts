import { mkdtempSync, rmSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { afterAll, afterEach, beforeEach, describe, expect, it } from 'vitest'
import { AssayClient } from '../../../src/client/assay-client.js'
import { findingsOf } from '../../support/stored-runs.js'
import { GATED, RIGHT } from './gated.js'
import { handoffsIn } from './plot.js'
import { TwoHosts } from './two-hosts.js'

/** What is forgotten here is forgotten here, and what is at a peer is the peer's. */

const scratch = mkdtempSync(path.join(os.tmpdir(), 'assay-peers-keeping-'))
let worlds = 0
let two: TwoHosts
let client: AssayClient

beforeEach(async () => {
  worlds += 1
  two = await TwoHosts.start({ folder: path.join(scratch, String(worlds)), ...GATED })
  const { key } = await two
    .client('a')
    .createKey({ tenant: 'acme', scopes: ['runs:create', 'runs:read', 'runs:cancel'] })
  client = new AssayClient({ url: two.a.host.url, key })
})
afterEach(() => two.stop())
afterAll(() => rmSync(scratch, { recursive: true, force: true }))

const secretsOf = async (side: 'a' | 'b') =>
  JSON.stringify(
    (await two.stored(side)).flatMap(({ events }) => events.map(({ payload, secret }) => [payload, secret])),
  )

describe('a tenant that is erased', () => {
  it('has no work at a peer any more: while there is some it is not erased', async () => {
    two.proxy.down()
    const { runId } = await client.createRun({ workflowId: 'passed' })
    await two.until('silence', async () => {
      const run = (await two.stored('a')).find(one => one.runId === runId)
      return run && handoffsIn(run.events).some(step => step.startsWith('peer.silent'))
    })
    await expect(two.client('a').eraseTenant('acme')).rejects.toMatchObject({ code: 'tenant_in_use' })
    two.proxy.up()
    expect((await two.ended(runId)).status).toBe('completed')
    for (const side of ['a', 'b'] as const) expect(findingsOf(await two.stored(side))).toEqual([])
  })

  it('R-SEC-1: keeps nothing here of what its peers brought, and the runs there are as they were', async () => {
    const { runId } = await client.createRun({ workflowId: 'passed' })
    await two.ended(runId)
    const there = await secretsOf('b')
    expect(there).toContain(RIGHT)
    expect(await secretsOf('a')).toContain(RIGHT)
    const before = two.proxy.passed.length
    await two.client('a').eraseTenant('acme')
    await two.until('it to be erased', async () => (await two.client('a').getTenant('acme')).state === 'erased')
    expect(await secretsOf('a')).not.toContain(RIGHT)
    expect(two.proxy.passed).toHaveLength(before)
    expect(await secretsOf('b')).toBe(there)
  })
})
