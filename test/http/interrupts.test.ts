import { createHmac } from 'node:crypto'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type LinkPayload, mintToken } from '../../src/http/interrupt-link.js'
import { ManualClock } from '../../src/testing/manual-clock.js'
import { asking, registerAsking } from './asking.js'
import { type Reply, startHttp, type TestHost, TOKEN_SECRET } from './harness.js'
import '../support/seed.js'

let host: TestHost
beforeAll(async () => {
  host = await startHttp({ config: { accessLog: true } })
  await registerAsking(host)
})
afterAll(() => host.close())

const { start, snapshot, answer, link, look, use, log, cancel } = asking(() => host)

const told = ({ status, json }: Reply) => [status, json.error]

/** A refusal must leave the interrupt as it is. */
async function leavesOpen(runId: string, reply: () => Promise<Reply>): Promise<Reply> {
  const before = await log(runId)
  const answered = await reply()
  expect(answered.status).toBeGreaterThanOrEqual(400)
  expect(await log(runId)).toEqual(before)
  expect((await snapshot(runId)).status).toMatch(/^waiting-/)
  return answered
}

const token = async (runId: string): Promise<string> => (await snapshot(runId)).interrupt.interruptToken

const decoded = (text: string): LinkPayload =>
  JSON.parse(Buffer.from(text.split('.')[0] as string, 'base64url').toString())

describe('the snapshot of a waiting run', () => {
  test('R-RUN-2: names the node and what it asks; only a key that may answer gets the link', async () => {
    const runId = await start('approve')
    const seen = await snapshot(runId)
    expect(seen).toMatchObject({
      status: 'waiting-approval',
      currentNodeId: 'gate',
      nodeStates: { gate: { status: 'suspended' } },
      interrupt: {
        kind: 'approval',
        nodeId: 'gate',
        interruptId: expect.any(String),
        key: 'gate:0',
        data: { artifactData: { text: 'draft' } },
        shownHash: expect.stringMatching(/^sha256:[0-9a-f]{64}$/),
        callbackUrl: `/v1/interrupts/${seen.interrupt.interruptToken}`,
      },
    })
    const read = (await snapshot(runId, 'reader')).interrupt
    expect(read.interruptId).toBe(seen.interrupt.interruptId)
    expect(read).not.toHaveProperty('interruptToken')
    expect(read).not.toHaveProperty('callbackUrl')
  })

  test('has one ETag while it has one link, and another for whoever gets none', async () => {
    const url = `/v1/runs/${await start('approve')}`
    const [mine, theirs] = [await host.call('alice', { url }), await host.call('reader', { url })]
    expect(mine.headers.etag).not.toBe(theirs.headers.etag)
    const again = await host.call('alice', { url, headers: { 'if-none-match': String(mine.headers.etag) } })
    expect(again.status).toBe(304)
  })

  test('says what was voted so far', async () => {
    const runId = await start('quorum')
    await answer(runId, { action: 'accept', voter: 'v1' })
    expect((await snapshot(runId)).interrupt).toMatchObject({
      requiredApprovals: 3,
      votes: [{ voter: 'v1', action: 'accept' }],
    })
  })

  test('R-RUN-4: shows nothing that the run keeps secret, neither here nor through a link', async () => {
    const runId = await start('discreet', { inputs: { token: 'CNRY-secret-value' } })
    const { text, json } = await host.call('alice', { url: `/v1/runs/${runId}` })
    const { interruptToken } = json.interrupt
    const list = await host.call('alice', { url: '/v1/interrupts' })
    for (const place of [text, (await look(interruptToken)).text, list.text]) expect(place).not.toContain('CNRY')
    expect((await use(interruptToken)).json.status).toBe('completed')
  })

  test('streamed as values it shows the question and never a link', async () => {
    const runId = await start('approve')
    const stream = host.call('alice', { url: `/v1/runs/${runId}/events?streamMode=values` })
    await answer(runId, { action: 'accept' })
    const { text } = await stream
    expect(text).toContain('event: state.snapshot')
    expect(text).not.toContain('interruptToken')
  })
})

describe('answering with a key', () => {
  test('R-ASK-2: 200 with the status after it; who decided comes from the credential, whatever the body claims', async () => {
    const runId = await start('approve')
    const reply = await answer(runId, { action: 'accept', decidedBy: 'mallory', feedback: 'fine' })
    expect([reply.status, reply.json]).toEqual([200, { runId, nodeId: 'gate', status: 'completed' }])
    const received = (await log(runId)).find(event => event.type === 'approval.received')
    expect(received.payload).toMatchObject({ action: 'accept', decidedBy: 'alice' })
  })

  test('R-ASK-4: a second answer is 409; a run, node or interrupt that never was is 404', async () => {
    const runId = await start('approve')
    expect((await answer(runId, { action: 'accept' })).status).toBe(200)
    expect(told(await answer(runId, { action: 'reject' }))).toEqual([409, 'interrupt_already_resolved'])
    const ask = (url: string) => host.call('alice', { method: 'POST', url, payload: { resumeValue: {} } })
    expect(told(await ask(`/v1/runs/${runId}/interrupts/other`))).toEqual([404, 'interrupt_not_found'])
    expect(told(await ask('/v1/runs/never/interrupts/gate'))).toEqual([404, 'not_found'])
    expect(told(await ask(`/v1/runs/${runId}/interrupts/a%00b`))).toEqual([404, 'not_found'])
  })

  test('needs its own scope, and another tenant sees nothing', async () => {
    const runId = await start('approve')
    const lacking = await leavesOpen(runId, () => answer(runId, { action: 'accept' }, 'reader'))
    expect([lacking.status, lacking.json.details]).toEqual([403, { scopeRequired: 'approvals:respond' }])
    expect(told(await leavesOpen(runId, () => answer(runId, { action: 'accept' }, 'bob')))).toEqual([404, 'not_found'])
  })

  test.each<[string, string, unknown]>([
    ['approve', 'an action that is not offered', { action: 'approve' }],
    ['approve', 'no action', {}],
    ['approve', 'no object', 'accept'],
    ['approve', 'refine without feedback', { action: 'refine' }],
    ['approve', 'refine with an unknown scope', { action: 'refine', refineFeedback: { scope: 'some' } }],
    ['approve', 'edit-accept without the edit', { action: 'edit-accept' }],
    ['veto', 'edit-accept among votes', { action: 'edit-accept', editedArtifactData: {} }],
    ['strict', 'a value off its schema', { action: 'accept', feedback: 'far too long' }],
    ['clarify', 'a missing answer', { answers: {} }],
    ['clarify', 'an answer that was not asked for', { answers: { q1: 1, q2: 2 } }],
    ['clarify', 'an answer off its schema', { answers: { q1: 'many' } }],
    ['approve', 'a voter that is no name', { action: 'accept', voter: 7 }],
  ])('R-ASK-3: %s: %s is 400, and the interrupt stays open', async (workflowId, _, value) => {
    const runId = await start(workflowId)
    expect(told(await leavesOpen(runId, () => answer(runId, value)))).toEqual([400, 'validation_error'])
  })

  test('R-REST-24: the body is closed', async () => {
    const runId = await start('approve')
    for (const payload of [{}, { resumeValue: { action: 'accept' }, decidedBy: 'x' }, []]) {
      const url = `/v1/runs/${runId}/interrupts/gate`
      const reply = await leavesOpen(runId, () => host.call('alice', { method: 'POST', url, payload }))
      expect(told(reply)).toEqual([400, 'validation_error'])
    }
  })

  test('an answer to something else than what is shown is 409 interrupt_changed', async () => {
    const runId = await start('approve')
    const stale = { action: 'accept', shownHash: `sha256:${'0'.repeat(64)}` }
    expect(told(await leavesOpen(runId, () => answer(runId, stale)))).toEqual([409, 'interrupt_changed'])
    const { shownHash } = (await snapshot(runId)).interrupt
    expect((await answer(runId, { action: 'accept', shownHash })).status).toBe(200)
  })

  test('ask is heard, and the run goes on waiting', async () => {
    const runId = await start('approve')
    const reply = await answer(runId, { action: 'ask', question: 'why?' })
    expect([reply.status, reply.json.status]).toEqual([200, 'waiting-approval'])
    expect((await answer(runId, { action: 'accept' })).json.status).toBe('completed')
  })

  test('clarifications take answers by id or as a list', async () => {
    const [one, other] = [await start('clarify'), await start('clarify')]
    expect((await snapshot(one)).status).toBe('waiting-input')
    expect((await answer(one, { answers: { q1: 3 } })).json.status).toBe('completed')
    expect((await answer(other, { answers: [{ id: 'q1', answer: 3 }] })).json.status).toBe('completed')
  })

  test('R-ASK-8: an external event must match the correlation: 422, and the run still waits', async () => {
    const runId = await start('event')
    expect((await snapshot(runId)).status).toBe('waiting-external')
    const wrong = await leavesOpen(runId, () => answer(runId, { orderId: 'o-2' }))
    expect(told(wrong)).toEqual([422, 'correlation_mismatch'])
    const through = await token(runId)
    expect(told(await leavesOpen(runId, () => use(through, {})))).toEqual([422, 'correlation_mismatch'])
    expect((await use(through, { orderId: 'o-1', amount: 5 })).json.status).toBe('completed')
  })

  test('an Idempotency-Key gives the first answer again instead of 409', async () => {
    const runId = await start('approve')
    const headers = { 'idempotency-key': 'answer-1' }
    const [first, again] = [
      await answer(runId, { action: 'accept' }, 'alice', headers),
      await answer(runId, { action: 'accept' }, 'alice', headers),
    ]
    expect([again.status, again.text, again.headers['openwop-idempotent-replay']]).toEqual([200, first.text, 'true'])
    const through = await token(await start('approve'))
    const [used, usedAgain] = [await use(through, undefined, headers), await use(through, undefined, headers)]
    expect([used.status, usedAgain.text]).toEqual([200, used.text])
    expect(usedAgain.headers['openwop-idempotent-replay']).toBe('true')
  })

  test('R-REST-12: a paused run takes no answer, and takes it after it was resumed', async () => {
    const runId = await start('approve')
    const verb = (name: string) => host.call('alice', { method: 'POST', url: `/v1/runs/${runId}:${name}` })
    expect((await verb('pause')).status).toBe(202)
    expect(told(await answer(runId, { action: 'accept' }))).toEqual([409, 'run_paused'])
    await verb('resume')
    expect((await answer(runId, { action: 'accept' })).json.status).toBe('completed')
  })
})

describe('votes', () => {
  const vote = (runId: string, voter: string, action = 'accept', key: 'alice' | 'approver' = 'alice') =>
    answer(runId, { action, voter }, key)

  test('R-ASK-7: three voters through one key that may speak for others', async () => {
    const runId = await start('quorum')
    expect((await vote(runId, 'v1')).json.status).toBe('waiting-approval')
    expect((await vote(runId, 'v1')).json.status).toBe('waiting-approval')
    expect((await vote(runId, 'v2')).json.status).toBe('waiting-approval')
    expect((await vote(runId, 'v3')).json.status).toBe('completed')
    const received = (await log(runId)).find(event => event.type === 'approval.received')
    expect(received.payload.decidedBy).toBe('quorum:3-of-3')
  })

  test('a key that may not speak for others has one vote, whatever names it gives', async () => {
    const runId = await start('quorum')
    for (const voter of ['v1', 'v2', 'v3', 'v4'])
      expect((await vote(runId, voter, 'accept', 'approver')).status).toBe(200)
    const { status, interrupt } = await snapshot(runId)
    expect([status, interrupt.votes]).toEqual(['waiting-approval', [{ voter: 'approver', action: 'accept' }]])
  })

  test('R-ASK-7: a majority of rejections fails the run; a single veto does when that is the rule', async () => {
    const runId = await start('quorum')
    expect((await vote(runId, 'v1', 'reject')).json.status).toBe('waiting-approval')
    expect((await vote(runId, 'v2', 'reject')).json.status).toBe('failed')
    const vetoed = await start('veto')
    await vote(vetoed, 'v1')
    expect((await vote(vetoed, 'v2', 'reject')).json.status).toBe('failed')
  })

  test('only those on the list approve; links for others are only made by keys that may speak for them', async () => {
    const runId = await start('listed')
    expect(told(await leavesOpen(runId, () => answer(runId, { action: 'accept' })))).toEqual([403, 'forbidden'])
    const forged = await leavesOpen(runId, () => answer(runId, { action: 'accept', voter: 'carol' }, 'approver'))
    expect(told(forged)).toEqual([403, 'forbidden'])
    const refused = await link(runId, { subject: 'carol' }, 'approver')
    expect([refused.status, refused.json.details]).toEqual([403, { scopeRequired: 'approvals:delegate' }])
    expect(told(await leavesOpen(runId, async () => use(await token(runId))))).toEqual([403, 'forbidden'])
    const made = await link(runId, { subject: 'carol' })
    expect((await use(made.json.token)).json.status).toBe('completed')
    const received = (await log(runId)).find(event => event.type === 'approval.received')
    expect(received.payload.decidedBy).toBe('link:carol')
  })

  test('two links of one person, and the key that made them, are one vote', async () => {
    const runId = await start('quorum')
    const through = await token(runId)
    await use(through)
    await use((await link(runId)).json.token)
    await answer(runId, { action: 'accept' })
    expect((await snapshot(runId)).interrupt.votes).toEqual([{ voter: 'alice', action: 'accept' }])
  })
})

describe('links', () => {
  test('R-ASK-5: show what is asked, are never cached or passed on, and answer once', async () => {
    const runId = await start('approve')
    const made = await link(runId, { expiresInSeconds: 120 })
    expect([made.status, made.json]).toEqual([
      201,
      {
        token: expect.any(String),
        url: `/v1/interrupts/${made.json.token}`,
        expiresAt: expect.any(String),
        intent: 'resolve',
      },
    ])
    const seen = await look(made.json.token)
    expect(seen.headers).toMatchObject({ 'cache-control': 'no-store', 'referrer-policy': 'no-referrer' })
    expect(seen.json).toMatchObject({
      runId,
      nodeId: 'gate',
      kind: 'approval',
      key: 'gate:0',
      data: { artifactData: { text: 'draft' } },
      expiresAt: made.json.expiresAt,
      intent: 'resolve',
    })
    expect((await use(made.json.token)).json).toEqual({ runId, nodeId: 'gate', status: 'completed' })
    const received = (await log(runId)).find(event => event.type === 'approval.received')
    expect(received.payload.decidedBy).toBe('link:alice')
    expect(told(await use(made.json.token))).toEqual([409, 'interrupt_already_resolved'])
    expect(told(await look(made.json.token))).toEqual([409, 'interrupt_already_resolved'])
  })

  test('B42 R-ASK-5: a link for looking does not answer', async () => {
    const runId = await start('approve')
    const { json } = await link(runId, { intent: 'inspect' })
    expect((await look(json.token)).json.intent).toBe('inspect')
    expect(told(await leavesOpen(runId, () => use(json.token)))).toEqual([403, 'forbidden'])
  })

  test.each([
    { expiresInSeconds: 59 },
    { expiresInSeconds: 30 * 24 * 3600 + 1 },
    { expiresInSeconds: 60.5 },
    { intent: 'edit' },
    { subject: '' },
    { subject: 'a\nb' },
    { other: 1 },
  ])('%j is 400', async body => {
    const runId = await start('approve')
    expect(told(await leavesOpen(runId, () => link(runId, body)))).toEqual([400, 'validation_error'])
  })

  test('are made for what is open only', async () => {
    const runId = await start('approve')
    expect(told(await link(runId, {}, 'bob'))).toEqual([404, 'not_found'])
    const url = `/v1/runs/${runId}/interrupts/other:link`
    expect(told(await host.call('alice', { method: 'POST', url }))).toEqual([404, 'interrupt_not_found'])
    await answer(runId, { action: 'accept' })
    expect(told(await link(runId))).toEqual([409, 'interrupt_already_resolved'])
  })

  test('R-ASK-10: cannot answer where a bearer key is demanded', async () => {
    const runId = await start('bearer')
    expect(told(await leavesOpen(runId, () => link(runId)))).toEqual([403, 'auth_elevation_required'])
    const shown = await token(runId)
    expect((await look(shown)).status).toBe(200)
    expect(told(await leavesOpen(runId, () => use(shown)))).toEqual([403, 'auth_elevation_required'])
    const forged = mintToken([TOKEN_SECRET], { ...decoded(shown), intent: 'resolve' })
    expect(told(await leavesOpen(runId, () => use(forged)))).toEqual([403, 'auth_elevation_required'])
    expect(told(await leavesOpen(runId, () => answer(runId, { action: 'accept' }, 'reader')))).toEqual([
      403,
      'forbidden',
    ])
    expect((await answer(runId, { action: 'accept' })).status).toBe(200)
  })

  test('a link that was made to show something else is 409 interrupt_changed', async () => {
    const runId = await start('approve')
    const other = mintToken([TOKEN_SECRET], { ...decoded(await token(runId)), shownHash: `sha256:${'0'.repeat(64)}` })
    expect(told(await leavesOpen(runId, () => use(other)))).toEqual([409, 'interrupt_changed'])
  })

  test('a link to a question that was asked before is closed, though the node asks again', async () => {
    const runId = await start('approve')
    const before = mintToken([TOKEN_SECRET], { ...decoded(await token(runId)), interruptId: 'int-0' })
    expect(told(await leavesOpen(runId, () => use(before)))).toEqual([409, 'interrupt_already_resolved'])
  })

  test('only a checked body is an answer; an unknown link is 404 before its body is looked at', async () => {
    const runId = await start('approve')
    const through = await token(runId)
    const post = (name: string, payload: object) =>
      host.call(null, { method: 'POST', url: `/v1/interrupts/${name}`, payload })
    expect(told(await leavesOpen(runId, () => post(through, {})))).toEqual([400, 'validation_error'])
    for (const payload of [{}, [], { nonsense: 1 }])
      expect(told(await post('x.y', payload))).toEqual([404, 'interrupt_not_found'])
  })
})

describe('B39 R-ASK-4 R-ASK-5: tokens that were not given out', () => {
  const resigned = (payload: object) => {
    const part = Buffer.from(JSON.stringify(payload)).toString('base64url')
    return `${part}.${createHmac('sha256', TOKEN_SECRET).update(part).digest('base64url')}`
  }
  const flipped = (text: string) => text.replace(/[a-zA-Z]/g, c => (c < 'a' ? c.toLowerCase() : c.toUpperCase()))
  /** Another character that stands for the same bytes: the last one has two bits to spare. */
  const respelled = (mac: string) => {
    const letters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'
    return mac.slice(0, -1) + letters[letters.indexOf(mac.at(-1) as string) ^ 1]
  }
  const edited = (good: string, more: object) =>
    `${Buffer.from(JSON.stringify({ ...decoded(good), ...more })).toString('base64url')}.${good.split('.')[1]}`

  const FORGERIES: [string, (good: string) => string][] = [
    ['unknown', () => 'no-such-token'],
    ['two dots', () => 'a.b.c'],
    ['only a dot', () => '.'],
    ['no signature', good => `${good.split('.')[0]}.`],
    ['no payload', good => `.${good.split('.')[1]}`],
    ['a later expiry', good => edited(good, { expiresAt: '2999-01-01T00:00:00.000Z' })],
    ['another intent', good => edited(good, { intent: 'resolve', subject: 'carol' })],
    ['another run', good => edited(good, { runId: 'other' })],
    ['a truncated signature', good => good.slice(0, -1)],
    ['a longer signature', good => `${good}A`],
    ['padding', good => `${good}=`],
    ['a signature in another case', good => `${good.split('.')[0]}.${flipped(good.split('.')[1] as string)}`],
    ['a payload in another case', good => `${flipped(good.split('.')[0] as string)}.${good.split('.')[1]}`],
    ['a signature spelled otherwise', good => `${good.split('.')[0]}.${respelled(good.split('.')[1] as string)}`],
    ['a field that no token has', good => resigned({ ...decoded(good), alg: 'none' })],
    ['fields in another order', good => resigned(Object.fromEntries(Object.entries(decoded(good)).reverse()))],
    ['a payload that is no object', () => resigned([1])],
    ['another secret', good => mintToken(['another secret'], decoded(good))],
    ['a run that never was', good => mintToken([TOKEN_SECRET], { ...decoded(good), runId: 'never' })],
    ['4,097 characters', () => 'x'.repeat(4097)],
    ['1 MB', () => 'x'.repeat(1_000_000)],
    ['a traversal', () => '..%2f..%2fetc'],
    ['a NUL', () => '%00'],
  ]

  test.each(FORGERIES)('%s: 404 on both verbs, and nothing is told apart', async (_, forge) => {
    const runId = await start('approve')
    const forged = forge(await token(runId))
    for (const attempt of [() => look(forged), () => use(forged)]) {
      const reply = await leavesOpen(runId, attempt)
      expect(reply.status).toBe(404)
      // Longer than any token: no route takes it.
      expect(reply.json.error).toBe(forged.length > 4096 ? 'not_found' : 'interrupt_not_found')
      expect(reply.json).not.toHaveProperty('details')
    }
  })

  test('an empty token is no route', async () => {
    expect((await look('')).status).toBe(404)
  })
})

describe('time', () => {
  const onClock = async (work: (clock: ManualClock) => Promise<void>) => {
    const clock = new ManualClock()
    const before = host
    host = await startHttp({ clock })
    try {
      await registerAsking(host)
      await work(clock)
    } finally {
      await host.close()
      host = before
    }
  }

  test('B40 R-ASK-4 R-ASK-5: a link ends after half an hour, the interrupt does not', () =>
    onClock(async clock => {
      const runId = await start('approve')
      const through = await token(runId)
      await clock.advance(29 * 60_000)
      expect((await look(through)).status).toBe(200)
      await clock.advance(60_000)
      expect(told(await leavesOpen(runId, () => look(through)))).toEqual([410, 'interrupt_expired'])
      expect(told(await leavesOpen(runId, () => use(through)))).toEqual([410, 'interrupt_expired'])
      expect((await use(await token(runId))).status).toBe(200)
    }))

  test('B40 R-ASK-5 R-ASK-6: a link never outlives the time to answer, and nobody answering counts as no', () =>
    onClock(async clock => {
      const runId = await start('hurried')
      const { interrupt } = await snapshot(runId)
      const { json } = await link(runId, { expiresInSeconds: 3600 })
      expect(json.expiresAt).toBe(interrupt.expiresAt)
      expect(Date.parse(interrupt.expiresAt)).toBe(clock.now() + 60_000)
      await clock.advance(60_000)
      expect(told(await use(json.token))).toEqual([410, 'interrupt_expired'])
      expect((await answer(runId, { action: 'accept' })).status).toBeGreaterThanOrEqual(409)
      await clock.advance(5000)
      const ended = await snapshot(runId)
      expect([ended.status, ended.error.code]).toEqual(['failed', 'interrupt_timeout'])
      const resolved = (await log(runId)).find(event => event.type === 'interrupt.resolved')
      expect(resolved.payload).toMatchObject({ outcome: 'rejected', reason: 'timeout' })
    }))

  test('secrets can be changed while links are out; one that is gone ends its links', async () => {
    const before = host
    const old = mintToken([TOKEN_SECRET], decoded(await token(await start('approve'))))
    for (const [tokenSecrets, status] of [
      [['a newer secret', TOKEN_SECRET], 200],
      [['a newer secret'], 404],
    ] as const) {
      host = await startHttp({ store: before.store, hostName: `rotated-${status}`, deps: { tokenSecrets } })
      expect((await look(old)).status).toBe(status)
      await host.close()
    }
    host = before
  })
})

describe('races', () => {
  test('R-ASK-4: fifty answers at once: one is taken, the others are 409', async () => {
    const runId = await start('approve')
    const through = await token(runId)
    const replies = await Promise.all(
      Array.from({ length: 50 }, (_, i) => (i % 2 === 0 ? answer(runId, { action: 'accept' }) : use(through))),
    )
    const count = (status: number) => replies.filter(reply => reply.status === status).length
    expect([count(200), count(409)]).toEqual([1, 49])
    expect((await log(runId)).filter(event => event.type === 'interrupt.resolved')).toHaveLength(1)
  })

  test('an answer against a cancellation: one of them happened, and the log says which', async () => {
    for (let i = 0; i < 10; i++) {
      const runId = await start('approve')
      const both = [() => answer(runId, { action: 'accept' }), () => cancel(runId)]
      const replies = await Promise.all((i % 2 === 0 ? both : both.reverse()).map(attempt => attempt()))
      expect(replies.filter(reply => reply.status === 200)).toHaveLength(1)
      const types = (await log(runId)).map(event => event.type)
      expect(types.includes('interrupt.resolved')).not.toBe(types.includes('run.cancelled'))
    }
  })

  test('a run cancelled while it waits: 422 with a key, 409 with a link', async () => {
    const runId = await start('approve')
    const through = await token(runId)
    await cancel(runId)
    expect(told(await answer(runId, { action: 'accept' }))).toEqual([422, 'interrupt_cancelled'])
    expect(told(await use(through))).toEqual([409, 'interrupt_already_resolved'])
    expect(told(await look(through))).toEqual([409, 'interrupt_already_resolved'])
  })
})

describe('a parent of a run that waits', () => {
  const family = async () => {
    const parent = await start('mother')
    await expect.poll(async () => (await snapshot(parent)).status, { timeout: 5000 }).toBe('waiting-approval')
    const seen = await snapshot(parent)
    return { parent, seen, child: seen.childRuns[0].runId as string }
  }

  test('waits too, at the node that started the child, and asks nothing itself', async () => {
    const { parent, seen, child } = await family()
    expect(seen).toMatchObject({ currentNodeId: 'sub', nodeStates: { sub: { status: 'running', childRunId: child } } })
    expect(seen).not.toHaveProperty('interrupt')
    expect((await answer(child, { action: 'accept' })).status).toBe(200)
    await expect.poll(async () => (await snapshot(parent)).status, { timeout: 5000 }).toBe('completed')
  })

  test('R-ASK-9: cancelled, takes the child with it: what the child asked is gone', async () => {
    const { parent, child } = await family()
    const through = await token(child)
    await cancel(parent)
    await expect.poll(async () => (await snapshot(child)).status, { timeout: 5000 }).toBe('cancelled')
    expect(told(await look(through))).toEqual([410, 'interrupt_gone'])
    expect(told(await use(through))).toEqual([410, 'interrupt_gone'])
    expect(told(await answer(child, { action: 'accept' }))).toEqual([410, 'interrupt_gone'])
  })
})

describe('the list', () => {
  test('has what the tenant’s runs ask, newest first, page by page, and no links', async () => {
    const other = await startHttp()
    const before = host
    host = other
    await registerAsking(other)
    const runs = [await start('approve'), await start('event'), await start('clarify')]
    await start('noop')
    const seen: string[] = []
    for (let cursor: string | null = ''; cursor !== null; ) {
      const page: Reply = await host.call('reader', { url: `/v1/interrupts?limit=2${cursor && `&cursor=${cursor}`}` })
      expect(page.text).not.toContain('interruptToken')
      seen.push(...page.json.interrupts.map((item: { runId: string }) => item.runId))
      cursor = page.json.nextCursor
    }
    expect(seen).toEqual(runs.reverse())
    expect((await host.call('bob', { url: '/v1/interrupts' })).json).toEqual({ interrupts: [], nextCursor: null })
    for (const bad of ['limit=0', 'limit=101', 'cursor=abc'])
      expect((await host.call('alice', { url: `/v1/interrupts?${bad}` })).status).toBe(400)
    host = before
    await other.close()
  })
})

describe('B44: a token is only where it was asked for', () => {
  test('not in events, logs or error texts', async () => {
    const runId = await start('approve')
    const through = await token(runId)
    const replies = [
      await look(through),
      await use(through, { action: 'nonsense' }),
      await host.call(null, { method: 'PUT', url: `/v1/interrupts/${through}` }),
      await host.call(null, { url: `/v1/interrupts/${through}/x` }),
      await host.call(null, { method: 'POST', url: `/v1/interrupts/${through}`, payload: '{', headers: JSON_TYPE }),
      await use(through),
      await use(through),
      await look(through),
      await host.call('alice', { url: '/v1/interrupts' }),
      await host.call('alice', { url: `/v1/runs/${runId}/debug-bundle` }),
    ]
    const places = [JSON.stringify(await log(runId)), JSON.stringify(host.lines), ...replies.map(reply => reply.text)]
    for (const part of through.split('.')) for (const place of places) expect(place).not.toContain(part)
    expect(JSON.stringify(host.lines)).toContain('/v1/interrupts/:token')
  })
})

describe('whatever is sent', () => {
  const json = fc.jsonValue({ maxDepth: 3 })

  test('any answer is taken or a documented 4xx, never 5xx', async () => {
    const runs = [await start('approve'), await start('quorum'), await start('clarify'), await start('event')]
    const action = fc.constantFrom('accept', 'reject', 'refine', 'edit-accept', 'ask', 'x')
    const extra = fc.record(
      { action, voter: json, refineFeedback: json, answers: json, shownHash: json },
      { requiredKeys: [] },
    )
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...runs), fc.oneof(json, extra), async (runId, value) => {
        expect([200, 400, 403, 409, 422]).toContain((await answer(runId, value)).status)
      }),
      { numRuns: 300 },
    )
  })

  test('any token is 404, never 5xx', async () => {
    const text = fc.oneof(
      fc.base64String({ maxLength: 200 }),
      fc.string({ unit: 'grapheme', minLength: 1, maxLength: 60 }),
    )
    await fc.assert(
      fc.asyncProperty(text, text, async (part, mac) => {
        const name = encodeURIComponent(`t${part}.${mac}`)
        expect([name, (await look(name)).status]).toEqual([name, 404])
        expect((await use(name)).json.error).toBe('interrupt_not_found')
      }),
      { numRuns: 200 },
    )
  })
})

const JSON_TYPE = { 'content-type': 'application/json' }
