import http from 'node:http'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import type { Json } from '../../../src/core/json.js'
import { createEgress, type Egress } from '../../../src/egress/egress.js'
import { probeHttp } from '../../../src/probes/http.js'
import type { ProbeOf } from '../../../src/probes/probe.js'
import { ManualClock } from '../../../src/testing/manual-clock.js'
import { freePort } from '../../support/free-port.js'
import { detailsOf, meansOf, subjectOf } from './rig.js'

const requests: string[] = []
let origin: string
let server: http.Server
let asked: () => void = () => undefined

const PAGES: { readonly [path: string]: (response: http.ServerResponse) => void } = {
  '/page': response => void response.end('<h1>Annual report</h1>'),
  '/gone': response => void response.writeHead(410).end(),
  '/down': response => void response.writeHead(503).end(),
  '/busy': response => void response.writeHead(429).end(),
  '/away': response => void response.writeHead(302, { location: 'http://169.254.169.254/latest/meta-data' }).end(),
  '/cut': response => void response.writeHead(200, { 'content-length': 100 }).write('a', () => response.destroy()),
  '/zip': response => void response.writeHead(200, { 'content-encoding': 'gzip' }).end(Buffer.alloc(33, 1)),
  '/long': response => void response.end(`${'x'.repeat(1024 * 1024)}Annual report`),
  '/silent': () => asked(),
}

beforeAll(async () => {
  server = http.createServer((request, response) => {
    requests.push(`${request.method} ${request.url}`)
    const page = PAGES[request.url?.split('?')[0] ?? '']
    if (page === undefined) response.writeHead(404).end()
    else page(response)
  })
  const port = await freePort()
  await new Promise<void>(resolve => server.listen(port, '127.0.0.1', resolve))
  origin = `http://127.0.0.1:${port}`
})
afterAll(() => {
  server.closeAllConnections()
  server.close()
})

const clock = new ManualClock()
let egress: Egress
afterEach(() => egress.close())

function ask(more: Partial<ProbeOf<'http'>>, output: Json = null, allowPrivate = true, signal?: AbortSignal) {
  requests.length = 0
  egress = createEgress({ allowPrivate, clock, resolve: () => Promise.reject(new Error('no such name')) })
  const probe: ProbeOf<'http'> = { probe_id: 'p', type: 'http', status: [200], ...more }
  return probeHttp(probe, subjectOf(output, signal && { signal }), meansOf({ egress, clock }))
}
const outcome = async (...args: Parameters<typeof ask>) => (await ask(...args)).outcome

test('a page answers as it must', async () => {
  expect(await outcome({ url: `${origin}/page#part` })).toBe('held')
  expect(requests).toEqual(['GET /page'])
  expect(await outcome({ url: `${origin}/gone`, status: [404, 410] })).toBe('held')
  expect(await outcome({ url: `${origin}/down`, status: [503] })).toBe('held')
  expect(await outcome({ url: `${origin}/page`, body_pattern: 'Annual\\s+report' })).toBe('held')
  expect(await outcome({ url: `${origin}/page`, body_pattern: 'Monthly' })).toBe('failed')
})

test('a page that is not there fails', async () => {
  expect(detailsOf(await ask({ url: `${origin}/gone` }))).toBe('answers 410; it must answer 200')
  const nowhere = [`${origin}/none`, `http://127.0.0.1:${await freePort()}/`, 'http://no-such-name.example/', 'http://']
  for (const url of nowhere) expect(await outcome({ url })).toBe('failed')
})

test('what cannot be asked, or is only down, is not known', async () => {
  let faults = 0
  for (const page of ['/down', '/busy', '/cut']) {
    expect(await outcome({ url: `${origin}${page}` })).toBe('unavailable')
    faults += requests.length
  }
  expect(faults).toBe(3)
  expect(await outcome({ url: `${origin}/zip`, body_pattern: 'a' })).toBe('unavailable')
  expect(await outcome({ url: `${origin}/long`, body_pattern: 'Annual' })).toBe('unavailable')
  expect(await outcome({ url: `${origin}/page`, body_pattern: '(' })).toBe('unavailable')
})

test('a silent page is given up after ten seconds, or when the caller goes', async () => {
  const isAsked = () => new Promise<void>(resolve => (asked = resolve))
  let there = isAsked()
  const late = ask({ url: `${origin}/silent` })
  await there
  await clock.advance(10_000)
  expect(detailsOf(await late)).toBe('there was no complete answer in time')
  egress.close()
  there = isAsked()
  const caller = new AbortController()
  const left = ask({ url: `${origin}/silent` }, null, true, caller.signal)
  await there
  caller.abort()
  expect((await left).outcome).toBe('unavailable')
})

test('G4: a redirect to the address of machine metadata is not followed', async () => {
  expect(await outcome({ url: `${origin}/away` })).toBe('failed')
  expect(requests).toEqual(['GET /away'])
})

test('G1: what the policy keeps in is not asked, and not known', async () => {
  const urls = [`${origin}/page`, 'https://169.254.169.254/latest', 'https://localhost/', 'https://user:pw@a.example/']
  for (const url of urls) {
    const result = await ask({ url }, null, false)
    expect(result.outcome).toBe('unavailable')
    expect(JSON.stringify(result)).not.toContain('pw')
  }
  expect(requests).toEqual([])
})

test('every address in the output is asked, each once; the worst answer counts', async () => {
  const output = {
    links: [`See ${origin}/page.`, { more: `(${origin}/page), ${origin}/page?2` }],
    other: `${origin}/x`,
  }
  expect((await ask({ path: '/links' }, output)).evidence.map(({ ref }) => ref)).toEqual([
    `${origin}/page`,
    `${origin}/page?2`,
  ])
  const mixed = await ask({}, `${origin}/page ${origin}/down ${origin}/gone`)
  expect([mixed.outcome, mixed.evidence.map(({ ref }) => ref)]).toEqual(['failed', [`${origin}/gone`]])
  expect(await outcome({}, `${origin}/page ${origin}/down`)).toBe('unavailable')
})

test('no address, no place, or too many addresses fail without asking', async () => {
  expect(await outcome({ path: '/a' }, { a: 'none' })).toBe('failed')
  expect(detailsOf(await ask({ path: '/b' }, { a: 'none' }))).toBe('nothing at /b; the output has a')
  const many = Array.from({ length: 21 }, (_, i) => `${origin}/page?${i}`)
  expect(detailsOf(await ask({}, many))).toBe('has 21 addresses; at most 20 are asked')
  expect(requests).toEqual([])
  expect(await outcome({}, many.slice(1))).toBe('held')
})
