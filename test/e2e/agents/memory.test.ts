import { mkdtempSync, rmSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { HostProcess } from '../../support/host-process.js'
import { findingsOf, storedRuns } from '../../support/stored-runs.js'
import { ended, eventsOf } from './talk.js'
import { makeWorld, type World } from './world.js'

/** Agents that remember, on a real host: what their models are sent, and what is told of it. */

const scratch = mkdtempSync(path.join(os.tmpdir(), 'assay-memory-'))
let world: World
let host: HostProcess

beforeAll(async () => {
  world = await makeWorld({
    folder: scratch,
    agents: {
      friend: { systemPrompt: 'You are a friend.', memoryShape: { conversation: true } },
      scholar: {
        systemPrompt: 'You are a scholar.',
        memoryShape: { longTerm: true },
        toolAllowlist: ['assay:memory.put'],
      },
      stranger: { systemPrompt: 'You are nobody.', memoryShape: { scratchpad: true } },
    },
    workflows: [],
  })
  host = await world.start({})
})

afterAll(async () => {
  await host.handOver()
  expect(findingsOf(await storedRuns(world.database))).toEqual([])
  await world.close()
  rmSync(scratch, { recursive: true, force: true })
})

const says = (...texts: string[]) =>
  world.model.plan(texts.map(text => ({ times: 1, reply: { kind: 'text', text: JSON.stringify({ result: text }) } })))

async function chat(message: string, conversationId?: string): Promise<string> {
  const body = { message, ...(conversationId === undefined ? {} : { conversationId }) }
  const { status, body: made } = await host.call('POST', '/v1/host/assay/chat', body)
  expect(status, JSON.stringify(made)).toBe(201)
  const { status: how, error } = await ended(host, made.runId)
  expect(how, JSON.stringify(error)).toBe('completed')
  return made.runId
}

/** What the model was sent last. */
const lastSent = (): string => JSON.stringify(world.model.requests().at(-1)?.body)

const boundOf = async (runId: string): Promise<boolean> =>
  (await eventsOf(host, runId)).find(({ type }) => type === 'agent.invocation.started')?.payload.memoryBound

test('R-LIVE-8: a conversation goes on where it was left, and only there', async () => {
  says('Nice to meet you, Ann.')
  const first = await chat('@friend I am Ann and I like snow.', 'c-1')
  expect(lastSent()).not.toContain('Earlier in this conversation')
  says('You are Ann.', 'I do not know.')
  const second = await chat('@friend Who am I?', 'c-1')
  expect(lastSent()).toContain('Earlier in this conversation')
  expect(lastSent()).toContain('I am Ann and I like snow.')
  expect(lastSent()).toContain('Nice to meet you, Ann.')
  await chat('@friend Who am I?', 'c-2')
  expect(lastSent()).not.toContain('snow')
  expect(await boundOf(second)).toBe(true)
  const told = (await eventsOf(host, first)).map(({ type }) => type)
  expect(told.indexOf('memory.written')).toBeGreaterThan(told.indexOf('agent.decided'))
  expect(told.indexOf('memory.written')).toBeLessThan(told.indexOf('agent.invocation.completed'))
  expect(
    JSON.stringify((await eventsOf(host, second)).filter(({ type }) => type === 'assay.journal.read')),
  ).not.toContain('snow')
})

test('R-LIVE-8: what an agent has written down it is given by the next run of the scope', async () => {
  world.model.plan([
    {
      times: 1,
      reply: { kind: 'tools', calls: [{ name: 'assay_memory_put', args: { content: 'Water boils at 100.' } }] },
    },
    { times: 1, reply: { kind: 'text', text: '{"result":"noted"}' } },
  ])
  await chat('@scholar Note it.', 'lab')
  says('At 100.', 'No idea.')
  const knowing = await chat('@scholar When does water boil?', 'lab')
  expect(lastSent()).toContain('What you have written down before')
  expect(lastSent()).toContain('Water boils at 100.')
  await chat('@scholar When does water boil?', 'elsewhere')
  expect(lastSent()).not.toContain('Water boils')
  const reads = (await eventsOf(host, knowing)).filter(({ type }) => type === 'assay.journal.read')
  expect(reads.map(({ payload }) => payload)).toEqual([
    { nodeId: expect.any(String), space: 'memory', entries: 1, agentId: 'local.live.scholar' },
  ])
})

test('R-LIVE-8: notes of one task bind nothing, and are kept nowhere', async () => {
  says('Hello.')
  const runId = await chat('@stranger Say hello.', 'c-1')
  expect(await boundOf(runId)).toBe(false)
  expect((await eventsOf(host, runId)).map(({ type }) => type)).not.toContain('memory.written')
})

test('R-MEM-21 R-REPLAY-11: a replay of a conversation tells the same entry, asks nobody and remembers nothing', async () => {
  says('Red.')
  const source = await chat('@friend My colour is red.', 'c-3')
  const asked = world.model.requests().length
  const made = await host.call('POST', `/v1/runs/${source}:fork`, { mode: 'replay' })
  await ended(host, made.body.runId)
  const said = async (runId: string) => (await eventsOf(host, runId)).map(({ type, payload }) => [type, payload])
  expect((await said(made.body.runId)).slice(1)).toEqual((await said(source)).slice(1))
  expect(world.model.requests().length).toBe(asked)
  const { body } = await host.call('GET', '/v1/host/assay/memory?scope=c-3')
  expect((body as unknown as { entries: unknown[] }).entries).toHaveLength(1)
})

test('R-MEM-8: a branch of a conversation is told what was said before its source, and not what was said since', async () => {
  says('One.', 'Two.', 'Two and a half.')
  await chat('@friend The first thing.', 'c-4')
  const source = await chat('@friend The second thing.', 'c-4')
  says('Three.')
  await chat('@friend The third thing.', 'c-4')
  says('Two and a half.')
  const made = await host.call('POST', `/v1/runs/${source}:fork`, { mode: 'branch', fromSeq: 1 })
  await ended(host, made.body.runId)
  expect(lastSent()).toContain('The first thing.')
  expect(lastSent()).not.toContain('The third thing.')
})
