import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { mkdtempSync, rmSync } from 'node:fs'
import type { Socket } from 'node:net'
import os from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { CheckedRun } from '../../../src/log-check/checked.js'
import { ManualClock } from '../../../src/testing/manual-clock.js'
import { loopOf, next, terminate } from '../../../src/testing/orchestration.js'
import { findingsOf, runsIn } from '../../support/stored-runs.js'
import { ANSWER, HostilePeer } from './hostile-peer.js'
import { DOCUMENT_CASES } from './document-lies.js'
import { type Case, HUGE } from './lie-kit.js'
import { EARLY_CASES } from './lies.js'
import type { MortalSide } from './mortal-side.js'
import { passing } from './passing.js'
import { handoffsIn } from './plot.js'
import { honestReceipt, RECEIPT_CASES, RECEIPT_KEY } from './receipt-lies.js'
import { KEY_OF_A, sideA } from './two-hosts.js'

/** A peer that lies. What A writes down is what it should be, and nothing else of A is any different. */

const scratch = mkdtempSync(path.join(os.tmpdir(), 'assay-hostile-'))
const CASES: readonly Case[] = [...EARLY_CASES, ...DOCUMENT_CASES, ...RECEIPT_CASES]
const LOST_AFTER = 15_000
const UNTOUCHED = 'untouched'

const WORKFLOWS = [
  loopOf(
    {
      rules: [{ when: 'iteration == 1', decide: next('peer:beta/work', 'peer:beta/more') }, { decide: terminate }],
    },
    {
      id: 'two-at-once',
      dispatch: { fanOutPolicy: 'parallel', outputMapping: { answer: 'answer' } },
      variables: [{ name: 'answer', type: 'string', defaultValue: UNTOUCHED }],
    },
  ),
  { id: 'bystander', nodes: { a: 'core.noop' } },
  loopOf(
    { rules: [{ when: 'iteration == 1', decide: next('peer:beta/work') }, { decide: terminate }] },
    {
      id: 'errand',
      dispatch: { outputMapping: { answer: 'answer', other: 'other' } },
      variables: ['answer', 'other'].map(name => ({ name, type: 'string' as const, defaultValue: UNTOUCHED })),
    },
  ),
]

let peer: HostilePeer
/** Bytes that this process has read off connections to the peer. */
let sockets: Socket[] = []
const watch = (message: unknown) => {
  const { socket } = message as { readonly socket: Socket }
  socket.once('connect', () => {
    if (socket.remotePort === peer.port) sockets.push(socket)
  })
}
const bytesRead = (): number => sockets.reduce((sum, socket) => sum + socket.bytesRead, 0)

beforeAll(async () => {
  peer = await HostilePeer.start()
  peer.receiptOf = honestReceipt
  subscribe('net.client.socket', watch)
})
afterAll(async () => {
  unsubscribe('net.client.socket', watch)
  await peer.close()
  rmSync(scratch, { recursive: true, force: true })
})

let worlds = 0

async function tell({ lies }: Pick<Case, 'lies'>, workflowId = 'errand') {
  worlds += 1
  const clock = new ManualClock()
  const folder = path.join(scratch, String(worlds))
  const a = await sideA(
    { folder, workflows: WORKFLOWS, url: peer.url, lostAfter: LOST_AFTER, receiptKeys: [RECEIPT_KEY] },
    clock,
  ).boot()
  const until = <T>(what: string, probe: () => T | Promise<T>) =>
    passing(what, probe, {
      clock,
      moves: () => a.moves + bytesRead() + peer.questions.length,
      isBusy: () => a.busy > 0,
    })
  const begin = async (workflowId: string): Promise<string> =>
    ((await ask(a, 'POST', '/v1/runs', { workflowId })).body as { readonly runId: string }).runId
  const ended = (runId: string) =>
    until('the run to end', async () => {
      const row = await a.store.readRun(null, runId)
      return row !== undefined && row.endedAt !== null ? row : undefined
    }).catch(error => {
      throw new Error(a.lines.map(({ text }) => text).join('\n'), { cause: error })
    })
  peer.tell(lies)
  sockets = []
  peer.bystander = await begin('bystander')
  await ended(peer.bystander)
  const before = await logOf(a, peer.bystander)
  const runId = await begin(workflowId)
  const { status } = await ended(runId)
  const read = bytesRead()
  const answers = await Promise.all(
    ['', '/events', '/ancestry', '/debug-bundle', '/verifications'].map(part =>
      ask(a, 'GET', `/v1/runs/${runId}${part}`),
    ),
  )
  const runs = await runsIn(a.store)
  const after = await logOf(a, peer.bystander)
  const health = await ask(a, 'GET', '/healthz')
  const { lines } = a
  await a.stop()
  const { variables } = answers[0]!.body as { readonly variables: { readonly [name: string]: unknown } }
  return { runId, status, read, answers, runs, before, after, health, lines, variables }
}

async function ask(a: MortalSide, method: string, route: string, body?: object) {
  const response = await fetch(`${a.host.url}${route}`, {
    method,
    headers: { authorization: `Bearer ${KEY_OF_A}`, 'content-type': 'application/json', accept: 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  return { status: response.status, body: (await response.json()) as unknown }
}

const logOf = async (a: MortalSide, runId: string): Promise<string> =>
  JSON.stringify(await a.store.readEvents(runId, 0))

const runOf = (runs: readonly CheckedRun[], runId: string): CheckedRun => runs.find(run => run.runId === runId)!

/** What the log says of the hand-off. */
function chainOf({
  ending,
  receipt = 'evidence',
}: Pick<Case, 'ending'> & { readonly receipt?: string }): readonly string[] {
  const began = ['dispatch.began']
  const begun = [...began, 'dispatch.succeeded']
  switch (ending.is) {
    case 'merged':
    case 'empty':
      return [...begun, 'child.completed', `peer.receipt ${receipt}`, 'output.harvested']
    case 'failed':
      return [...begun, expect.stringMatching(/^child.failed [\w.-]+$/)]
    case 'refused':
      return [...began, `dispatch.failed ${ending.code}`]
    case 'lost':
      return [
        ...(ending.begun ? begun : began),
        `peer.silent ${ending.first ?? ending.reason}`,
        `peer.lost ${ending.reason}`,
      ]
  }
}

describe('a peer that lies', () => {
  it('there are at least 40 ways, each with a name of its own', () => {
    expect(CASES.length).toBeGreaterThanOrEqual(40)
    expect(new Set(CASES.map(({ name }) => name)).size).toBe(CASES.length)
  })

  it('an honest one is believed, as far as its gates let it', async () => {
    const { status, variables, runs } = await tell({ lies: {} })
    expect([status, variables]).toEqual(['completed', { answer: ANSWER, other: UNTOUCHED }])
    expect(findingsOf(runs)).toEqual([])
  })

  it.each(CASES.map(given => [given.name, given] as const))(
    'P3, P7, P8, P9, P17, R-MAP-10: %s',
    async (_name, given) => {
      const { ending, unasked } = given
      const { runId, status, read, answers, runs, before, after, health, lines, variables } = await tell(given)
      const run = runOf(runs, runId)

      expect(handoffsIn(run.events)).toEqual(chainOf(given))
      const answer = ending.is === 'merged' ? ending.answer : UNTOUCHED
      expect([status, variables]).toEqual(['completed', { answer, other: UNTOUCHED }])

      // Nothing that it says stands anywhere but in the place that is for it.
      const told = JSON.stringify(run.events.map(({ payload, secret }) => [payload, secret]))
      for (const word of ['forged', 'c.example', 'evil']) expect(told).not.toContain(word)
      if (answer === UNTOUCHED || answer === ANSWER) expect(told).not.toMatch(/\\u00(00|1b)/)
      const ids = [...told.matchAll(/"childRunId":"([^"]*)"/g)].map(([, id]) => id)
      for (const id of ids) expect(id).toMatch(/^peer:beta\/[A-Za-z0-9_-]{1,128}$/)
      // A log of a hand-off is short, however long what was told.
      expect(told.length).toBeLessThan(64_000)

      // Nothing else has changed, and nobody else was asked anything.
      expect(runs.map(({ definition }) => (definition as { readonly id: string }).id).sort()).toEqual([
        'bystander',
        'errand',
      ])
      expect(after).toBe(before)
      expect(peer.strays).toEqual([])
      expect(peer.times('create') === 0).toBe(unasked === true)
      const keys = peer.questions
        .filter(({ asked }) => asked === 'create')
        .map(({ headers }) => headers['idempotency-key'])
      expect(new Set(keys).size).toBeLessThanOrEqual(1)

      // It is as well as ever, and has read no more than it said it would.
      expect(answers.map(reply => reply.status)).toEqual([200, 200, 200, 200, 200])
      expect(health.status).toBe(200)
      expect(lines.filter(({ level }) => level === 'error')).toEqual([])
      expect(read).toBeLessThan(HUGE / 2)
      expect(findingsOf(runs)).toEqual([])
    },
  )

  it('P8: one run for two hand-offs at once: it is that of the first, and the second is lost', async () => {
    const { runId, status, variables, runs, lines } = await tell({ lies: {} }, 'two-at-once')
    expect([status, variables]).toEqual(['completed', { answer: ANSWER }])
    expect([...handoffsIn(runOf(runs, runId).events)].sort()).toEqual([
      'child.completed',
      'dispatch.began',
      'dispatch.began',
      'dispatch.succeeded',
      'output.harvested',
      'peer.lost unusable',
      'peer.receipt evidence',
      'peer.silent unusable',
    ])
    expect(lines.filter(({ level }) => level === 'error')).toEqual([])
    const keys = peer.questions
      .filter(({ asked }) => asked === 'create')
      .map(({ headers }) => headers['idempotency-key'])
    expect(new Set(keys).size).toBe(2)
    expect(findingsOf(runs)).toEqual([])
  })
})
