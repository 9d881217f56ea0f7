import { expect, test } from 'vitest'
import { startHttp } from './harness.js'
test('smoke', async () => {
  const host = await startHttp()
  const created = await host.call('alice', { method: 'POST', url: '/v1/runs', payload: { workflowId: 'noop' } })
  console.log(created)
  for (const url of ['', '/events/poll', '/events']) {
    console.log((await host.call('alice', { url: created.json.statusUrl + url })).text)
  }
  console.log((await host.call('alice', { url: '/v1/runs' })).text)
  console.log((await host.call(null, { url: '/.well-known/openwop' })).text)
  console.log((await host.call(null, { url: '/v1/openapi.json' })).text.length)
  expect(host.lines).toEqual([])
  await host.close()
})
