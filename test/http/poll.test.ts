import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startHttp, type TestHost } from './harness.js'

let host: TestHost
beforeAll(async () => {
  host = await startHttp()
})
afterAll(() => host.close())

const start = async (workflowId: string): Promise<string> =>
  (await host.call('alice', { method: 'POST', url: '/v1/runs', payload: { workflowId } })).json.runId

const poll = (runId: string, query = '') => host.call('alice', { url: `/v1/runs/${runId}/events/poll${query}` })

describe('poll (contract core §2.1)', () => {
  test('R-REST-7: without parameters it is the whole log, in the union of both documented bodies', async () => {
    const runId = await start('noop')
    const { json } = await poll(runId)
    expect(json).toMatchObject({ runId, isComplete: true, isTerminal: true, lastEventSeq: 3, runStatus: 'completed' })
    expect(json.events.map((event: { sequence: number }) => event.sequence)).toEqual([0, 1, 2, 3])
    expect(json.events[1]).toMatchObject({
      eventId: `${runId}:1`,
      nodeId: 'only',
      causationId: `${runId}:0`,
      schemaVersion: 1,
      engineVersion: '1',
    })
  })

  test('R-REST-7: lastSequence is exclusive, `since` means the same, and past the end is 200 and empty', async () => {
    const runId = await start('noop')
    for (const query of ['?lastSequence=1', '?since=1']) {
      expect((await poll(runId, query)).json.events.map((event: { sequence: number }) => event.sequence)).toEqual([
        2, 3,
      ])
    }
    for (const query of ['?lastSequence=3', '?lastSequence=4000000']) {
      const reply = await poll(runId, query)
      expect([reply.status, reply.json.events, reply.json.isComplete]).toEqual([200, [], true])
    }
  })

  test('R-REST-7: repeated polls of an ended run are identical', async () => {
    const runId = await start('noop')
    expect((await poll(runId)).text).toBe((await poll(runId)).text)
  })

  test('it holds until something happens', async () => {
    const runId = await start('slow')
    const held = poll(runId, '?lastSequence=1&timeout=60')
    await host.call('alice', { method: 'POST', url: `/v1/runs/${runId}/cancel` })
    const { json } = await held
    expect(json.events[0].sequence).toBe(2)
    const rest = json.isComplete ? json : (await poll(runId, `?lastSequence=${json.lastEventSeq}`)).json
    expect(rest.runStatus).toBe('cancelled')
  })

  test('it answers 200 and nothing when the time is over', async () => {
    const runId = await start('slow')
    const { json } = await poll(runId, '?lastSequence=1&timeout=1')
    expect(json).toEqual({
      runId,
      events: [],
      isComplete: false,
      lastEventSeq: 1,
      runStatus: 'running',
      isTerminal: false,
    })
  })

  test('something newer is answered at once, whatever the timeout', async () => {
    const runId = await start('slow')
    expect((await poll(runId, '?timeout=60')).json.events).toHaveLength(2)
  })

  test.each([
    'lastSequence=-1',
    'lastSequence=1.5',
    'lastSequence=x',
    'lastSequence=',
    'since=1e3',
    'timeout=0',
    'timeout=61',
    'timeout=x',
    'lastSequence=1&lastSequence=2',
  ])('?%s is 400', async query => {
    const reply = await poll(await start('noop'), `?${query}`)
    expect([reply.status, reply.json.error]).toEqual([400, 'validation_error'])
    expect(reply.json.details.field).toMatch(/^query\./)
  })
})
