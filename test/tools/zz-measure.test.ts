import { test } from 'vitest'
import { stdioServer } from '../support/mcp-server.js'
import { toolRig } from './rig.js'

test('measure', async () => {
  const rig = await toolRig({ mcp: { srv: stdioServer('/tmp/zz-journal') } })
  await rig.use('mcp:srv.echo', { text: 'warm' })
  for (let i = 0; i < 3; i += 1)
    for (const [tool, args] of [
      ['huge', { bytes: 100_000_000 }],
      ['endless', {}],
      ['flood', { method: 'notifications/message', params: { level: 'info', data: 'x' } }],
      ['flood', { method: 'notifications/tools/list_changed' }],
      ['flood', { id: 1, method: 'ping' }],
      ['flood', { id: 10_000, result: {} }],
    ] as const) {
      const before = process.memoryUsage()
      const t = performance.now()
      const u = await rig.use(`mcp:srv.${tool}`, args)
      const after = process.memoryUsage()
      const mb = (k: 'rss' | 'heapUsed' | 'external' | 'arrayBuffers') => ((after[k] - before[k]) / 1e6).toFixed(1)
      console.log(
        tool,
        u.told.code,
        'rss',
        mb('rss'),
        'heap',
        mb('heapUsed'),
        'ext',
        mb('external'),
        'ab',
        mb('arrayBuffers'),
        (performance.now() - t).toFixed(0),
      )
      await rig.use('mcp:srv.echo', { text: 'next' })
    }
  await rig.close()
})
