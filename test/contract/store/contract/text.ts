import { expect, it } from 'vitest'
import { UnstorableText } from '../../../../src/engine/ports/event-log.js'
import type { Opened } from '../adapter.js'
import * as f from '../fixtures.js'

const STANDARD = { tenant: 'acme', kind: 'gate', id: 'g', hash: 'h', body: '{}', updatedAt: f.T0 } as const

/** S11. What a database cuts, folds or refuses must never be taken for what was meant. */
export function textContract(open: () => Promise<Opened>): void {
  const workflow = { tenant: 'acme', workflowId: 'gated', digest: 'd1', definition: '{}', updatedAt: f.T0 }

  it('S11: finds nothing by a name that only begins like the one that is stored', async () => {
    const { store } = await open()
    await store.putWorkflow(workflow)
    const response = f.response({ state: 'pending' })
    await store.claimResponse(response, f.T0)
    for (const end of ['\0', '\0x', '\0\0', '\n', '\t', '\x1f']) {
      expect(await store.getWorkflow('acme', `gated${end}`)).toBeUndefined()
      expect(await store.getWorkflow(`acme${end}`, 'gated')).toBeUndefined()
      expect(await store.getDefinition(`d1${end}`)).toBeUndefined()
      expect(await store.listWorkflows(`acme${end}`)).toEqual([])
      expect(await store.getResponse({ ...response, key: `${response.key}${end}` })).toBeUndefined()
      expect(await store.readRun(null, `run${end}`)).toBeUndefined()
      expect(await store.listRuns({ tenant: `acme${end}`, limit: 10 })).toEqual([])
    }
    expect(await store.getWorkflow('acme', 'gated')).toEqual(workflow)
  })

  it.each(['\0', '\n', '\r', '\t', '\x01', '\x1f'])(
    'S11: stores no text with %j, and nothing that comes with it',
    async bad => {
      const { store } = await open()
      await store.putWorkflow(workflow)
      const refused: Promise<unknown>[] = [
        store.putWorkflow({ ...workflow, workflowId: `gated${bad}`, digest: 'd2', definition: '{"v":2}' }),
        store.putWorkflow({ ...workflow, tenant: `acme${bad}`, digest: 'd2', definition: '{"v":2}' }),
        store.claimResponse(f.response({ state: 'pending', key: `k${bad}` }), f.T0),
        store.putKey({ ...f.apiKey(), principal: `ann${bad}` }),
        store.putStandard({ ...STANDARD, id: `g${bad}` }),
        store.putWebhook({ ...f.webhook(), url: `https://x.example/${bad}` }),
      ]
      for (const call of refused) await expect(call).rejects.toThrow(UnstorableText)
      expect(await store.listWorkflows('acme')).toEqual([workflow])
      expect(await store.getDefinition('d2')).toBeUndefined()
      expect(await store.listKeys()).toEqual([])
      expect(await store.listStandards('acme')).toEqual([])
      expect(await store.listWebhooks(null)).toEqual([])
    },
  )

  it('S11: a commit with such a text is refused as a whole, and its neighbours are not', async () => {
    const { store } = await open()
    const hostId = f.id('host')
    await store.registerHost({ hostId, hostName: 'h', leaseMs: 60_000, now: Date.now() })
    const results = await Promise.allSettled([
      store.commit(f.commit(hostId, [f.creation('r1', {}, { workflowId: 'gated\0' })])),
      store.commit(f.commit(hostId, [f.creation('r2')])),
      store.commit(f.commit(hostId, [f.creation('r3', {}, { tags: ['a\n'] })])),
    ])
    expect(results.map(result => result.status)).toEqual(['rejected', 'fulfilled', 'rejected'])
    for (const result of results) if (result.status === 'rejected') expect(result.reason).toBeInstanceOf(UnstorableText)
    expect((await store.listRuns({ tenant: null, limit: 10 })).map(row => row.runId)).toEqual(['r2'])
  })
}
