import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type HostProcess, until } from '../../support/host-process.js'
import { findingsOf, storedRuns } from '../../support/stored-runs.js'
import { type Sink, startSink } from '../webhooks/sink.js'
import { ended, eventsOf, startRun } from './talk.js'
import { makeWorld, type World } from './world.js'

/** Replays on a real host that has a provider, tool servers and a receiver of webhooks to reach, and reaches none. */

const scratch = mkdtempSync(path.join(os.tmpdir(), 'assay-replays-'))
const SETTINGS = { 'webhooks.allowPrivate': 'true' }
let world: World
let host: HostProcess
let sink: Sink
let webhookId: string

beforeAll(async () => {
  world = await makeWorld({
    folder: scratch,
    agents: { clerk: { systemPrompt: 'You are a clerk.', toolAllowlist: ['mcp:web.read'] } },
    workflows: [
      {
        id: 'asking',
        nodes: {
          ask: { type: 'core.ai.callPrompt', config: { systemPrompt: 'Be brief.', prompt: 'Tell of {{topic}}.' } },
        },
      },
    ],
  })
  sink = await startSink()
  host = await world.start({ settings: SETTINGS })
  const hook = await host.call('POST', '/v1/webhooks', { url: sink.url, events: ['*'] })
  expect(hook.status, JSON.stringify(hook.body)).toBe(201)
  webhookId = hook.body.webhookId
})

afterAll(async () => {
  await host.handOver()
  expect(findingsOf(await storedRuns(world.database))).toEqual([])
  await Promise.all([world.close(), sink.close()])
  rmSync(scratch, { recursive: true, force: true })
})

const fork = async (runId: string, body: object): Promise<string> => {
  const made = await host.call('POST', `/v1/runs/${runId}:fork`, body)
  expect(made.status, JSON.stringify(made.body)).toBe(201)
  await ended(host, made.body.runId)
  return made.body.runId
}

/** How often the outside has heard of this host. */
const reached = () => [world.model.requests().length, world.toolCalls().length]
/** Deliveries that are owed or made for a run: they are committed together with its events. */
async function deliveriesOf(runId: string): Promise<number> {
  const { deliveries } = (await host.call('GET', `/v1/webhooks/${webhookId}/deliveries?limit=100`)).body
  return deliveries.filter(delivery => delivery.runId === runId).length
}

/** What the project says an agent is told, from the next start of a host on. */
async function rewritten(change: (text: string) => string): Promise<void> {
  const file = path.join(scratch, 'project/agents/clerk.json')
  writeFileSync(file, change(readFileSync(file, 'utf8')))
  await host.handOver()
  host = await world.start({ settings: SETTINGS })
}

describe('a replay', () => {
  it('R-REPLAY-12 R-REPLAY-13: asks no provider, uses no tool and tells no receiver of webhooks; a branch does all of it', async () => {
    world.model.plan([
      { times: 1, reply: { kind: 'tools', calls: [{ name: 'mcp_web_read', args: { path: 'x' } }] } },
      { times: 1e9, reply: { kind: 'text', text: 'done' } },
    ])
    const source = await startRun(host, 'clerk', 'look it up')
    await ended(host, source)
    const before = reached()
    expect(before).toEqual([2, 1])
    expect(await deliveriesOf(source)).toBeGreaterThan(0)
    const replays = [await fork(source, { mode: 'replay' }), await fork(source, { mode: 'replay', fromSeq: 3 })]
    expect(reached()).toEqual(before)
    const branch = await fork(source, { mode: 'branch', fromSeq: 2 })
    expect(reached()[0]).toBeGreaterThan(2)
    expect(await deliveriesOf(branch)).toBeGreaterThan(0)
    for (const runId of replays) expect(await deliveriesOf(runId)).toBe(0)
    const heardOf = () => sink.received.map(({ body }) => (JSON.parse(body) as { runId: string }).runId)
    await until('the branch to be delivered', async () => heardOf().includes(branch) || undefined)
    expect(heardOf().filter(runId => replays.includes(runId))).toEqual([])
  })

  it('R-PROMPT-6: is compared with the prompts of the catalogue as it is now, and goes on without asking anybody', async () => {
    const source = await startRun(host, 'clerk', 'write a note')
    await ended(host, source)
    const before = reached()
    const same = await fork(source, { mode: 'replay' })
    expect((await eventsOf(host, same)).some(({ type }) => type === 'replay.diverged')).toBe(false)
    await rewritten(text => text.replace('You are a clerk.', 'You are a careful clerk.'))
    const differs = await fork(source, { mode: 'replay' })
    const events = await eventsOf(host, differs)
    const at = events.findIndex(({ type }) => type === 'replay.diverged')
    expect(events[at]?.payload).toMatchObject({ divergencePoint: 'prompt.composed', divergenceKind: 'output' })
    const hashes = [await eventsOf(host, source), events].map(
      log => log.find(({ type }) => type === 'prompt.composed')?.payload.hash,
    )
    expect(new Set(hashes).size).toBe(2)
    expect(events.at(-1)?.type).toBe('run.completed')
    expect(reached()).toEqual(before)
    await rewritten(text => text.replace('You are a careful clerk.', 'You are a clerk.'))
    const again = await fork(source, { mode: 'replay' })
    expect((await eventsOf(host, again)).some(({ type }) => type === 'replay.diverged')).toBe(false)
    for (const runId of [same, differs, again]) expect(await deliveriesOf(runId)).toBe(0)
  })

  it('R-PROMPT-6: of a node that asks a model by itself is compared with the words of the workflow', async () => {
    const source = await startRun(host, 'asking', '')
    expect((await ended(host, source)).status).toBe('completed')
    const before = reached()
    const replay = await fork(source, { mode: 'replay' })
    const said = async (runId: string) => (await eventsOf(host, runId)).map(({ type, payload }) => [type, payload])
    expect((await said(replay)).slice(1)).toEqual((await said(source)).slice(1))
    expect(reached()).toEqual(before)
  })
})
