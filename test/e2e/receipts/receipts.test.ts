import { createTrail } from '../../../src/audit/trail.js'
import { generateKeyPairSync, sign } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { Sealer } from '../../../src/audit/sealer.js'
import { keyIdOf, publicJwk } from '../../../src/audit/signing-key.js'
import { signStatement, statementText } from '../../../src/audit/statement.js'
import type { Json } from '../../../src/core/json.js'
import { AuditVerifier } from '../../../src/audit/verify.js'
import { ReceiptIssuer } from '../../../src/receipts/issuer.js'
import { systemClock } from '../../../src/system.js'
import { NO_TURNS } from '../../../src/timing/turns.js'
import { subjectsOf } from '../../../src/receipts/contradictions.js'
import { RECEIPT_KIND, type RunReceipt } from '../../../src/receipts/receipt.js'
import { readReceipt, type Verified, verifyReceipt } from '../../../src/receipts/verify-receipt.js'
import { Purger } from '../../../src/retention/purger.js'
import type { MemoryStore } from '../../../src/store/memory/memory-store.js'
import { agentsDouble, type Said } from '../../../src/testing/agents.js'
import { says, score } from '../../../src/testing/gated-families.js'
import { boundGate } from '../../../src/testing/gates.js'
import { AGENT } from '../../../src/testing/invocations.js'
import { ManualClock } from '../../../src/testing/manual-clock.js'
import { standardsDouble } from '../../../src/testing/verification.js'
import { sketch } from '../../../src/testing/workflow.js'
import * as f from '../../contract/store/fixtures.js'
import { startHttp, type TestHost } from '../../http/harness.js'
import { signer } from '../audit/signer.js'
import { emptyStores } from '../retention/stores.js'
import { check, hashOf, type Told } from './independent-checker.js'

const HOST_ID = 'acme.example/assay'
/** Of content, wherever there is any. */
const CANARY = 'canary-7f3a91'
const BAD = `${CANARY} the first try`
const GOOD = `${CANARY} the second try`

const VARIABLE = { name: 'text', type: 'string' as const, defaultValue: `${CANARY} default` }
const worker = { workflowId: 'writer', outputMapping: { text: 'text' } }

/** One hands work out, which is sent back once; what it leaves has to pass as well. */
const WORKFLOWS = [
  sketch({
    id: 'w',
    nodes: {
      a: { type: 'core.subWorkflow', config: worker },
      end: { type: 'core.end', inputs: { text: { type: 'expression', expression: 'variables.text' } } },
    },
    edges: ['a > end'],
    variables: [VARIABLE],
  }),
  sketch({
    id: 'writer',
    nodes: { work: { type: 'core.agent', config: { agentId: AGENT, resultVariable: 'text' } } },
    variables: [VARIABLE],
  }),
  sketch({
    id: 'hushed',
    nodes: { a: { type: 'core.subWorkflow', config: worker } },
    variables: [{ ...VARIABLE, sensitive: true }],
  }),
  sketch({ id: 'asks', nodes: { a: { type: 'core.approvalGate', config: { title: CANARY } } } }),
  sketch({
    id: 'fails',
    nodes: { a: { type: 'core.fail', config: { code: CANARY, message: CANARY, retryable: false } } },
  }),
]

const GATES = {
  w: [
    { ...boundGate({ name: CANARY }), hash: 'a'.repeat(64) },
    {
      ...boundGate({ gate_id: 'g2', position: { workflow_id: 'w', phase_id: 'a', placement: 'workflow_exit' } }),
      hash: 'b'.repeat(64),
    },
  ],
  hushed: [{ ...boundGate({ behaviour: { allow_hidden: true } }), hash: 'c'.repeat(64) }],
}

/** What is written first is not good enough, and everything after that is. */
let written = 0
const agents = agentsDouble({
  agents: { [AGENT]: {}, 'assay.verifier': {} },
  think: (ask): Said => {
    const seen = JSON.stringify(ask)
    if (ask.role === 'verifier') return score(seen.includes(BAD) ? 2 : 9)
    written += 1
    return says(written === 1 ? BAD : GOOD, { confidence: 0.9 })
  },
})

const { x } = publicJwk('', signer.trusted.get(signer.key.keyId)!)

const quiet = { info: () => undefined, warn: () => undefined, error: () => undefined }

const why = (verified: Verified<object>): string | undefined => (verified.ok ? undefined : verified.why)

const SETTLED = /^(completed|failed|waiting-.*)$/

describe.each(emptyStores())('receipts on $name', ({ name, open }) => {
  let host: TestHost
  let store: Awaited<ReturnType<typeof open>>
  const runs: { [workflowId: string]: string } = {}
  let text: string
  let told: Told

  const call = (url: string, key: Parameters<TestHost['call']>[0] = 'alice') => host.call(key, { url })
  const receiptOf = (runId: string, key: Parameters<TestHost['call']>[0] = 'alice') =>
    call(`/v1/runs/${runId}/receipt`, key)
  const start = async (workflowId: string, status: string) => {
    const payload = { workflowId, inputs: {} }
    const { json } = await host.call('alice', { method: 'POST', url: '/v1/runs', payload })
    runs[workflowId] = json.runId
    await vi.waitUntil(async () => SETTLED.test((await call(`/v1/runs/${json.runId}`)).json.status), 20_000)
    const { json: run, text: said } = await call(`/v1/runs/${json.runId}`)
    expect(run.status, said).toBe(status)
  }

  beforeAll(async () => {
    store = await open()
    written = 0
    host = await startHttp({
      store: store as MemoryStore,
      agents,
      gates: standardsDouble(GATES),
      performers: new Map(),
      config: { hostId: HOST_ID },
    })
    for (const payload of WORKFLOWS) {
      const { status, text: said } = await host.call('alice', { method: 'POST', url: '/v1/workflows', payload })
      expect(status, said).toBe(201)
    }
    await start('w', 'completed')
    await start('hushed', 'completed')
    await start('asks', 'waiting-approval')
    await start('fails', 'failed')
    ;({ text } = await receiptOf(runs.w!))
    told = check(text, x)
  })
  afterAll(async () => {
    await host.close()
    await store.close()
  })

  test('of a run whose work was sent back, passed and merged, one who knows only the docs checks it offline', async () => {
    expect(told.run).toMatchObject({ runId: runs.w, tenant: 'acme', status: 'completed' })
    expect(told.issuer).toMatchObject({ hostId: HOST_ID })
    const [sent, passed, left] = told.attempts
    expect(told.attempts.map(({ gateId, verdicts }) => [gateId, ...verdicts.map(({ verdict }) => verdict)])).toEqual([
      ['g1', 'revise'],
      ['g1', 'pass'],
      ['g2', 'pass'],
    ])
    expect(sent!.resultHash).not.toBe(passed!.resultHash)
    expect(told.merges.map(({ point, label, resultHash }) => [point, label, resultHash])).toEqual([
      ['harvest', 'verified', passed!.resultHash],
      ['run', 'verified', left!.resultHash],
    ])
    // Whoever holds the values finds them.
    const { outputs } = (await call(`/v1/runs/${runs.w}`)).json
    expect(outputs).toEqual({ text: GOOD })
    expect(told.outputs).toEqual({ hash: hashOf(outputs), withheld: false })
    expect(left!.resultHash).toBe(hashOf({ outputs }))
    const { output } = (await call(`/v1/runs/${runs.w}/verifications/2`)).json
    expect(passed!.resultHash).toBe(hashOf(output))
    const [last] = await store.readEvents(runs.w!, told.log.events - 1)
    expect(told.log.head).toBe(last!.hash)
    expect(told.cost.verification.tokens).toBeLessThanOrEqual(told.cost.spent.tokens)
  })

  test('the product agrees, and finds outputs and what was merged by their value', async () => {
    const wanted = { runId: runs.w!, hostId: HOST_ID, tenant: 'acme' }
    const outputs = { text: GOOD }
    expect(verifyReceipt(text, signer.trusted, { ...wanted, output: outputs })).toMatchObject({
      ok: true,
      keyId: signer.key.keyId,
      found: { left: 'verified', merged: [{ label: 'verified' }] },
    })
    const { output } = (await call(`/v1/runs/${runs.w}/verifications/2`)).json
    expect(verifyReceipt(text, signer.trusted, { output })).toMatchObject({
      found: { merged: [{ label: 'verified' }] },
    })
    const { output: refused } = (await call(`/v1/runs/${runs.w}/verifications/1`)).json
    expect(why(verifyReceipt(text, signer.trusted, { output: refused }))).toBe('other-output')
    expect(why(verifyReceipt(text, signer.trusted, { output: { text: BAD } }))).toBe('other-output')
  })

  test('not one byte of it can be changed', () => {
    const bytes = Buffer.from(text)
    let flipped = 0
    // The store has no part in this: every byte once, and some of them elsewhere.
    for (let at = 0; at < bytes.length; at += name === 'memory' ? 1 : 37) {
      const changed = Buffer.from(bytes)
      changed[at] = bytes[at]! ^ (1 << (at % 8))
      const other = changed.toString()
      expect(() => check(other, x), `byte ${at}`).toThrow()
      expect(verifyReceipt(other, signer.trusted).ok, `byte ${at}`).toBe(false)
      flipped += 1
    }
    expect(flipped).toBeGreaterThan(name === 'memory' ? 3_000 : 80)
  })

  test('no content is in it, whatever the run has said, was given, or failed with', async () => {
    const all = await Promise.all(['w', 'hushed', 'fails'].map(async id => (await receiptOf(runs[id]!)).text))
    const inner = all.map(one => Buffer.from(JSON.parse(one).payload, 'base64').toString())
    expect(inner.every(one => one.includes('"predicate"'))).toBe(true)
    for (const word of [CANARY, 'first try', 'second try', 'ask_']) expect(inner.join()).not.toContain(word)
    // They were there to be found.
    const logs = await Promise.all(['w', 'fails'].map(async id => JSON.stringify(await store.readEvents(runs[id]!, 0))))
    for (const log of logs) expect(log).toContain(CANARY)
  })

  test('what is withheld from everybody is named and not hashed, and outputs are told as they are shown', async () => {
    const { attempts, merges } = check((await receiptOf(runs.hushed!)).text, x) as unknown as RunReceipt
    expect(attempts.map(({ over }) => over)).toEqual(attempts.map(() => 'name'))
    expect(merges).toMatchObject([{ over: 'name' }])
    expect(why(verifyReceipt((await receiptOf(runs.hushed!)).text, signer.trusted, { output: { text: GOOD } }))).toBe(
      'other-output',
    )
  })

  test('a run that failed has one, and one that has not ended has none', async () => {
    const failed = check((await receiptOf(runs.fails!)).text, x)
    expect([failed.run.status, failed.outputs]).toEqual(['failed', undefined])
    const { status, json } = await receiptOf(runs.asks!)
    expect([status, json.error, json.details]).toEqual([
      409,
      'run_not_ended',
      { runId: runs.asks, status: 'waiting-approval' },
    ])
  })

  test('the runs of verifiers, of workers and of forks have theirs', async () => {
    const { runs: all } = (await call('/v1/runs?host=true&limit=100')).json
    const kinds = new Set<string>()
    for (const { runId, workflowId, status } of all) {
      if (status !== 'completed') continue
      kinds.add(workflowId)
      expect(check((await receiptOf(runId)).text, x).run.runId).toBe(runId)
    }
    expect([...kinds].sort()).toEqual(['assay-verifier', 'hushed', 'w', 'writer'])
    const payload = { mode: 'replay', fromSeq: 0 }
    const { json } = await host.call('alice', { method: 'POST', url: `/v1/runs/${runs.w}:fork`, payload })
    await vi.waitUntil(async () => (await call(`/v1/runs/${json.runId}`)).json.status === 'completed', 20_000)
    const replay = check((await receiptOf(json.runId)).text, x)
    expect(replay.run.fork).toMatchObject({ runId: runs.w, mode: 'replay', fromSeq: 0, diverged: false })
    expect(replay.merges).toEqual(told.merges)
  })

  test('whoever may not read the run has no receipt of it', async () => {
    const none = await receiptOf('run-that-never-was')
    expect([none.status, none.json.error]).toEqual([404, 'not_found'])
    const other = await receiptOf(runs.w!, 'bob')
    expect([other.status, other.json]).toEqual([404, none.json])
    expect((await receiptOf(runs.w!, null)).status).toBe(401)
    expect((await receiptOf(runs.w!, 'canceller')).status).toBe(403)
    expect((await receiptOf(runs.w!, 'reader')).status).toBe(200)
    expect((await call('/v1/audit/keys', null)).status).toBe(401)
    expect((await call('/v1/audit/keys', 'reader')).json.keys).toEqual([
      { kty: 'OKP', crv: 'Ed25519', x, kid: signer.key.keyId, use: 'sig', alg: 'EdDSA' },
    ])
  })

  test('of another run, tenant, host or key it does not pass for this one', () => {
    const asked = (wanted: object) => why(verifyReceipt(text, signer.trusted, wanted))
    expect(asked({ runId: runs.hushed })).toBe('other-run')
    expect(asked({ tenant: 'beta' })).toBe('other-tenant')
    expect(asked({ hostId: 'other.example' })).toBe('other-host')
    expect(why(verifyReceipt(text, new Map()))).toBe('key-unknown')
    const { privateKey, publicKey } = generateKeyPairSync('ed25519')
    const keyId = keyIdOf(publicKey)
    const theirs = { keyId, sign: (said: string) => sign(null, Buffer.from(said), privateKey).toString('base64url') }
    const receipt = told as unknown as RunReceipt
    const forged = statementText(
      signStatement(RECEIPT_KIND, { subject: subjectsOf(receipt), predicate: receipt as unknown as Json }, theirs),
    )
    expect(why(verifyReceipt(forged, signer.trusted))).toBe('key-unknown')
    expect(why(verifyReceipt(forged, new Map([[signer.key.keyId, publicKey]])))).toBe('key-unknown')
    expect(why(verifyReceipt(forged, new Map([[keyId, publicKey]])))).toBeUndefined()
  })

  test('two hosts on one database say the same under one id, each signed with its own key', async () => {
    const { privateKey, publicKey } = generateKeyPairSync('ed25519')
    const keyId = keyIdOf(publicKey)
    const theirs = new Map([[keyId, publicKey]])
    const sealer = new Sealer({ store, clock: systemClock, log: quiet, key: signer.key })
    expect(await sealer.seal()).toBeGreaterThan(0)
    // The other one has sealed the run, with a key that is not known here.
    const other = new ReceiptIssuer({
      engine: host.engine,
      verifier: new AuditVerifier({ store, keys: async () => theirs }),
      key: { keyId, sign: said => sign(null, Buffer.from(said), privateKey).toString('base64url') },
      keys: async () => theirs,
      clock: systemClock,
      turns: NO_TURNS,
      hostId: HOST_ID,
      version: '0.0.0',
    })
    const issued = await other.issue('acme', runs.w!)
    if (!issued.ok) throw new Error(issued.refusal.message)
    const { issuer, ...rest } = check(issued.value, publicJwk(keyId, publicKey).x)
    const { issuer: first, ...same } = told
    expect([issuer.hostId, rest]).toEqual([first.hostId, same])
    expect(why(verifyReceipt(issued.value, signer.trusted))).toBe('key-unknown')
  })

  test('a host whose database was changed past it signs nothing of that run', async () => {
    const changed = new Proxy(store, {
      get(target, name) {
        if (name === 'readEvents')
          return async (...args: Parameters<typeof store.readEvents>) =>
            (await target.readEvents(...args)).map(event =>
              event.type === 'agent.verified'
                ? { ...event, payload: event.payload.replace('"revise"', '"pass"') }
                : event,
            )
        const value = Reflect.get(target, name, target) as unknown
        return typeof value === 'function' ? value.bind(target) : value
      },
    })
    const other = await startHttp({
      store: changed as MemoryStore,
      agents,
      performers: new Map(),
      config: { hostId: HOST_ID },
    })
    const { status, json } = await other.call('alice', { url: `/v1/runs/${runs.w}/receipt` })
    expect([status, json.error]).toEqual([409, 'receipt_refused'])
    expect(json.message).toMatch(/event \d+ was changed/)
    await other.close()
  })

  test('a receipt outlives its run: purged, it is 410 for its tenant alone, and what was given before verifies', async () => {
    const clock = new ManualClock()
    clock.skip(Date.now() + 90 * 86_400_000 - clock.now())
    const hostId = await f.host(store)
    const sealer = new Sealer({ store, clock, log: quiet, key: signer.key })
    await sealer.seal()
    const purger = new Purger({
      trail: createTrail({ store, clock }),
      store,
      clock,
      log: quiet,
      rules: { tenants: {}, workflows: { fails: 7 } },
      seal: () => sealer.seal(),
      hostId: () => hostId,
    })
    const { text: given } = await receiptOf(runs.fails!)
    await purger.purge()
    const gone = await receiptOf(runs.fails!)
    expect([gone.status, gone.json.error]).toEqual([410, 'run_expired'])
    expect((await receiptOf(runs.fails!, 'bob')).status).toBe(404)
    expect(check(given, x).run.runId).toBe(runs.fails)
    expect(readReceipt(given).ok).toBe(true)
  })
})
