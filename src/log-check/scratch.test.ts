import { expect, test } from 'vitest'
import { checkLog } from './check-log.js'
import { fromRows } from './read-log.js'
import { engineRig, register, startRun } from '../testing/engine-rig.js'
import { settled } from '../testing/manual-clock.js'

const WF: any[] = [
  { id: 'child', nodes: { g: { type: 'core.approvalGate', config: {} }, d: { type: 'core.delay', config: { ms: 50 } } }, edges: ['g > d'] },
  { id: 'a', nodes: { s: 'core.noop', g: { type: 'core.approvalGate', config: { actions: ['accept', 'reject', 'refine', 'ask'], requiredApprovals: 2, rejectionPolicy: 'majority', timeoutMs: 5000 } },
     c: { type: 'core.subWorkflow', config: { workflowId: 'child' } }, i: { type: 'core.interrupt', config: { kind: 'external-event', data: { eventType: 'x', correlation: { k: 1 } }, timeoutMs: 9000 } },
     q: { type: 'core.clarificationGate', config: { questions: [{ id: 'q1', question: 'why?' }] } },
     w: { type: 'core.setVariable', config: { name: 'v', value: 3 } }, d: { type: 'core.delay', config: { ms: 300 } } },
    edges: ['s > g', 's > c', 'g > i', 'i > w', 's > d', 'd > q'] },
]

async function all(store: any) {
  const rows = (await store.listRuns({ tenant: 't1', limit: 10000 })).reverse()
  return Promise.all(rows.map(async (row: any) => ({ runId: row.runId, tenant: row.tenant, row, definition: JSON.parse((await store.getDefinition(row.workflowDigest))!), events: fromRows(row.runId, await store.readEvents(row.runId, 0)) })))
}

let total = 0
const known = new Set<string>()
test.each(['answer', 'timeout', 'cancel', 'pause', 'reject', 'inflight'])('product %s', async how => {
  const rig = engineRig()
  const engine = await rig.host()
  await register(engine, ...WF)
  const runId = await startRun(engine, 'a')
  const say = async (nodeId: string, value: any, by: string, id = runId) => {
    const r = await engine.command('t1', id, { type: 'resolve', nodeId, value, by, via: 'key' })
    await settled()
    return r
  }
  const problems = async (label: string) => {
    const found = checkLog({ runs: await all(rig.store), complete: true }).filter(f => !(f.rule === 'L28a' && f.message.includes('names run')) && !f.message.startsWith('replayEventId') && !known.has(JSON.stringify(f)))
    for (const f of found) known.add(JSON.stringify(f))
    total += found.length
    if (found.length > 0) console.log(label, JSON.stringify(found.slice(0, 6), null, 1))
  }
  await problems('start')
  await rig.clock.advance(400)
  await problems('400')
  const child = (await engine.childrenOf(runId))[0]!.runId
  if (how === 'answer' || how === 'pause') {
    await say('g', { action: 'accept' }, 'ann')
    await problems('vote')
    await say('g', { action: 'ask', question: 'hm' }, 'bob')
    if (how === 'pause') {
      await engine.command('t1', runId, { type: 'pause', drainPolicy: 'immediate' }); await settled(); await rig.clock.advance(100)
      await problems('paused')
      await engine.command('t1', runId, { type: 'resume' }); await settled()
    }
    await say('g', { action: 'accept' }, 'bob')
    await problems('accepted')
    await say('i', { k: 1, z: 2 }, 'sys')
    await say('g', { action: 'accept' }, 'eve', child)
    await problems('child answered')
    await say('q', { answers: { q1: 'because' } }, 'ann')
    await rig.clock.advance(1000)
  } else if (how === 'reject') {
    await say('g', { action: 'reject' }, 'ann')
    await say('g', { action: 'reject' }, 'bob')
  } else if (how === 'cancel') {
    await engine.command('t1', runId, { type: 'cancel', by: 'me' }); await settled()
  } else if (how === 'timeout') {
    await say('q', { answers: { q1: 'because' } }, 'ann')
    await rig.clock.advance(20000)
  }
  await problems('end')
  const row = (await rig.store.readRun('t1', runId))!
  for (const mode of ['replay', 'branch'] as const)
    for (let fromSeq = 0; fromSeq <= row.length; fromSeq++) {
      await rig.clock.advance(7)
      const f = await engine.fork({ tenant: 't1', runId, mode, fromSeq, ...(mode === 'branch' && fromSeq % 2 ? { overlay: { configurable: { recursionLimit: 3 } } } : {}) } as any)
      await settled()
      expect(f.ok).toBe(true)
      await problems(`${mode} ${fromSeq}`)
      const id = (f as any).value.runId
      if (mode === 'branch' && fromSeq % 3 !== 1) {
        const len = (await rig.store.readRun('t1', id))!.length
        for (const m2 of ['replay', 'branch'] as const) for (const at of [0, Math.min(fromSeq + 1, len), len]) {
          await engine.fork({ tenant: 't1', runId: id, mode: m2, fromSeq: at } as any)
          await settled()
          await problems(`${m2} ${at} of branch ${fromSeq}`)
        }
      }
    }
  await rig.clock.advance(60000)
  await problems('much later')
  console.log('TOTAL', how, total)
}, 120000)
