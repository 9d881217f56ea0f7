import http from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, describe, expect, test } from 'vitest'
import { freePort } from '../../test/support/free-port.js'
import { AssayClient } from './assay-client.js'
import { AssayError } from './assay-error.js'
import type { RunEventDoc } from './wire-shapes.js'

const servers: http.Server[] = []
afterEach(() => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections()
    server.close()
  }
})

/** A server whose answers are a list of scripts, one per request to the events of a run. */
async function serve(answer: (request: http.IncomingMessage, response: http.ServerResponse, nth: number) => void) {
  let nth = 0
  const server = http.createServer((request, response) => answer(request, response, nth++))
  servers.push(server)
  const port = await freePort()
  await new Promise<void>(resolve => server.listen(port, '127.0.0.1', resolve))
  return new AssayClient({ url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, key: 'hk_x' })
}

const doc = (sequence: number, type = 'node.started'): RunEventDoc => ({
  eventId: `r:${sequence}`,
  runId: 'r',
  type,
  payload: {},
  timestamp: '2026-01-01T00:00:00.000Z',
  sequence,
  schemaVersion: 1,
  engineVersion: '1',
})

const frame = (event: RunEventDoc) => `id: ${event.sequence}\nevent: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`
const stream = (response: http.ServerResponse) => response.writeHead(200, { 'content-type': 'text/event-stream' })

const sequences = async (client: AssayClient, options = {}) => {
  const seen: number[] = []
  for await (const event of client.followEvents('r', options)) seen.push(event.sequence)
  return seen
}

describe('followEvents', () => {
  test('core §6: ends with the terminal event', async () => {
    const client = await serve((_, response) => {
      stream(response).end([doc(0), doc(1), doc(2, 'run.completed')].map(frame).join(''))
    })
    expect(await sequences(client)).toEqual([0, 1, 2])
  })

  test('core §6: a broken connection is resumed after the last event seen, without gap or repetition', async () => {
    const asked: (string | undefined)[] = []
    const client = await serve((request, response, nth) => {
      asked.push(request.headers['last-event-id'] as string | undefined)
      stream(response)
      if (nth === 0) response.write(frame(doc(0)) + frame(doc(1)), () => response.destroy())
      // A server that repeats itself, and cuts a frame in half.
      else if (nth === 1) response.write(`${frame(doc(1))}${frame(doc(2))}id: 3\ndata: {"seq`, () => response.destroy())
      else response.end(frame(doc(3)) + frame(doc(4, 'run.failed')))
    })
    expect(await sequences(client)).toEqual([0, 1, 2, 3, 4])
    expect(asked).toEqual([undefined, '1', '2'])
  })

  test('a gap is never passed on: the missing part is asked for again', async () => {
    const client = await serve((request, response, nth) => {
      const from = Number(request.headers['last-event-id'] ?? -1) + 1
      const events = [doc(0), doc(1), doc(2), doc(3, 'run.completed')]
      const sent = nth === 0 ? events.filter(event => event.sequence !== 1) : events.slice(from)
      stream(response).end(sent.map(frame).join(''))
    })
    expect(await sequences(client)).toEqual([0, 1, 2, 3])
  })

  test('batches, comments and frames outside the log are understood', async () => {
    const client = await serve((_, response) => {
      stream(response).write(':keepalive\n\nevent: state.snapshot\ndata: {"runId":"r"}\n\n')
      response.end(`id: 1\nevent: batch\ndata: ${JSON.stringify([doc(0), doc(1, 'run.cancelled')])}\n\n`)
    })
    expect(await sequences(client)).toEqual([0, 1])
  })

  test('starting after the end of a finished run ends at once', async () => {
    const client = await serve((request, response) => {
      if (request.url?.includes('/events')) stream(response).end()
      else response.end(JSON.stringify({ runId: 'r', workflowId: 'w', status: 'completed' }))
    })
    expect(await sequences(client, { from: 5 })).toEqual([])
  })

  test('a refusal is not retried; capacity is', async () => {
    const gone = await serve((_, response) => {
      response.writeHead(404).end(JSON.stringify({ error: 'not_found', message: 'no such run' }))
    })
    await expect(sequences(gone)).rejects.toMatchObject({ status: 404, code: 'not_found', message: 'no such run' })
    const busy = await serve((_, response, nth) => {
      if (nth === 0) response.writeHead(503).end(JSON.stringify({ error: 'service_unavailable', message: 'full' }))
      else stream(response).end(frame(doc(0, 'run.completed')))
    })
    expect(await sequences(busy)).toEqual([0])
  })

  test('stops when its signal aborts, and gives up when nothing answers for too long', async () => {
    const client = await serve((_, response) => void stream(response).write(frame(doc(0))))
    const stop = new AbortController()
    const seen: number[] = []
    const following = (async () => {
      for await (const event of client.followEvents('r', { signal: stop.signal })) {
        seen.push(event.sequence)
        stop.abort(new Error('enough'))
      }
    })()
    await expect(following).rejects.toThrow('enough')
    expect(seen).toEqual([0])
    const nobody = new AssayClient({ url: 'http://127.0.0.1:1' })
    await expect(sequences(nobody, { patienceMs: 0 })).rejects.toMatchObject({ status: 0, code: 'unreachable' })
  })
})

describe('AssayClient', () => {
  test('core §4.1: creating a run survives a lost answer, under one Idempotency-Key', async () => {
    const keys: unknown[] = []
    const client = await serve((request, response, nth) => {
      keys.push(request.headers['idempotency-key'])
      if (nth === 0) return void request.socket.destroy()
      response.writeHead(201).end(JSON.stringify({ runId: 'r', status: 'running', eventsUrl: '/e', statusUrl: '/s' }))
    })
    expect(await client.createRun({ workflowId: 'w' })).toMatchObject({ runId: 'r' })
    expect(keys).toHaveLength(2)
    expect(keys[0]).toBe(keys[1])
  })

  test('a write without a key of its own is sent once', async () => {
    let calls = 0
    const client = await serve(request => {
      calls += 1
      request.socket.destroy()
    })
    await expect(client.createKey({ scopes: ['runs:read'] })).rejects.toBeInstanceOf(AssayError)
    expect(calls).toBe(1)
  })

  test('core §3.2: errors carry status, code, message and details; other answers are errors too', async () => {
    const client = await serve((_, response, nth) => {
      if (nth > 0) return void response.writeHead(502).end('<html>')
      response.writeHead(400, { 'content-type': 'application/json' })
      response.end(JSON.stringify({ error: 'validation_error', message: 'inputs.n', details: { field: 'n' } }))
    })
    await expect(client.getRun('r')).rejects.toMatchObject({
      status: 400,
      code: 'validation_error',
      details: { field: 'n' },
    })
    await expect(client.getRun('r')).rejects.toMatchObject({ status: 502, code: 'unexpected_response' })
  })

  test('sends the key as a bearer token, ids encoded, and walks pages to the end', async () => {
    const asked: string[] = []
    const client = await serve((request, response, nth) => {
      asked.push(`${request.headers.authorization} ${request.url}`)
      response.end(JSON.stringify({ runs: [{ runId: `r${nth}` }], nextCursor: nth === 0 ? 'c/1' : null }))
    })
    const runs: string[] = []
    for await (const run of client.allRuns({ workflowId: 'w' })) runs.push(run.runId)
    expect(runs).toEqual(['r0', 'r1'])
    expect(asked).toEqual([
      'Bearer hk_x /v1/runs?limit=100&workflowId=w',
      'Bearer hk_x /v1/runs?limit=100&workflowId=w&cursor=c%2F1',
    ])
    await client.getRun('../keys')
    expect(asked.at(-1)).toContain('/v1/runs/..%2Fkeys')
  })
})
