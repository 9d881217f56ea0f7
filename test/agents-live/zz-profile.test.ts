import { mkdtempSync } from 'node:fs'
import { it } from 'vitest'
import { makeWorld } from './world.js'
import { ended, eventsOf, expectReplayEqual, startRun } from './talk.js'
import { findingsOf, storedRuns } from '../support/stored-runs.js'

it('profile', async () => {
  for (let i = 0; i < 3; i++) {
    let t = performance.now()
    const lap = (what: string) => { const n = performance.now(); console.log(i, what, Math.round(n - t)); t = n }
    const world = await makeWorld({
      folder: mkdtempSync('/tmp/h8p-'),
      plan: [{ contains: 'put was called', reply: { kind: 'text', text: 'ok' } }, { contains: 'do', reply: { kind: 'tools', calls: [{ name: 'mcp_web_put', args: {} }] } }],
      agents: { errand: { systemPrompt: 'Run errands.', ...(process.env.TOOLS ? { toolAllowlist: ['mcp:web.read', 'mcp:web.put'] } : {}) } },
    })
    lap('world')
    const host = await world.start()
    lap('start')
    const runId = await startRun(host, 'errand', 'do')
    lap('create')
    await ended(host, runId)
    lap('ended')
    const ev = await eventsOf(host, runId)
    console.log(ev.map(e => `${(e as any).timestamp.slice(17)} ${e.type}`).join('\n'))
    lap('events')
    await expectReplayEqual(host, runId)
    lap('replay')
    await host.handOver()
    lap('handover')
    findingsOf(await storedRuns(world.database))
    lap('findings')
    await world.close()
    lap('close')
  }
})
