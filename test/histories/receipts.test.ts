import { describe, expect, test } from 'vitest'
import { AuditVerifier } from '../../src/audit/verify.js'
import { isSinceVersion } from '../../src/core/run/version.js'
import { verificationsIn } from '../../src/engine/queries/verifications.js'
import { labelOf } from '../../src/http/documents/verification-doc.js'
import { ReceiptIssuer } from '../../src/receipts/issuer.js'
import { verifyReceipt } from '../../src/receipts/verify-receipt.js'
import { MemoryStore } from '../../src/store/memory/memory-store.js'
import { CountingIds, engineRig } from '../../src/testing/engine-rig.js'
import { NO_TURNS } from '../../src/timing/turns.js'
import { signer } from '../e2e/audit/signer.js'
import { load, readHistories, runsOf } from './history.js'

/** Events that were recorded before content could be erased do not say that it was not. */
class OlderStore extends MemoryStore {
  override async readEvents(...asked: Parameters<MemoryStore['readEvents']>) {
    return (await super.readEvents(...asked)).map(event => ({ ...event, erased: event.erased ?? null }))
  }
}

const told = { issued: 0, merges: 0, labels: 0, replays: 0 }

/** A receipt of every run of every history, whichever engine wrote it, and of a replay of each that has gates. */
describe.each([...readHistories()])('%s', (name, history) => {
  test('every run that has ended has a receipt that agrees with itself, with the log and with what readers are told', async () => {
    const store = new OlderStore()
    const at = await load(history, store)
    const rig = engineRig(store, new CountingIds('replay-'))
    rig.clock.skip(Math.max(0, at - rig.clock.now()))
    const engine = await rig.host({ leaseMs: 30 * 24 * 3_600_000 })
    const keys = async () => signer.trusted
    const issuer = new ReceiptIssuer({
      engine,
      verifier: new AuditVerifier({ store, keys }),
      key: signer.key,
      keys,
      clock: rig.clock,
      turns: NO_TURNS,
      hostId: 'host.example',
      version: '0.0.0',
    })
    for (const { runId, create } of runsOf(history)) {
      const { tenant } = create!
      const { phase } = (await engine.inspect(tenant, runId))!.state
      const issued = await issuer.issue(tenant, runId)
      if (phase !== 'ended') {
        expect(issued).toMatchObject({ ok: false, refusal: { code: 'run_not_ended' } })
        continue
      }
      if (!issued.ok) throw new Error(`${name} ${runId}: ${issued.refusal.message}`)
      const verified = verifyReceipt(issued.value, signer.trusted, { runId, tenant, hostId: 'host.example' })
      if (!verified.ok) throw new Error(`${name} ${runId}: ${verified.message}`)
      const { receipt } = verified
      told.issued += 1
      told.merges += receipt.merges.length
      const log = await store.readEvents(runId, 0)
      expect(receipt.log).toMatchObject({ events: log.length, head: log.at(-1)!.hash })
      const count = (type: string) => log.filter(event => event.type === type).length
      expect(receipt.attempts).toHaveLength(count('dws.verification.started'))
      expect(receipt.attempts.flatMap(({ verdicts }) => verdicts)).toHaveLength(count('agent.verified'))
      expect(receipt.attempts.flatMap(({ votes }) => votes)).toHaveLength(count('assay.verifier.ended'))
      // The same word as everywhere else.
      for (const { record, verified: said } of (await verificationsIn(engine, tenant, runId))!) {
        const attempt = receipt.attempts.findLast(
          one =>
            one.gateId === record.gateId &&
            one.attempt === record.attempt &&
            one.resultHash === record.resultHash &&
            one.target === record.target,
        )
        expect(attempt?.verdicts.at(-1)?.label ?? 'unverified', `${runId} ${record.gateId}`).toBe(labelOf(record, said))
        told.labels += 1
      }
      if (receipt.gates.length === 0 || !isSinceVersion(receipt.run, 6)) continue
      const fork = await engine.fork({ tenant, runId, mode: 'replay', fromSeq: 0 })
      if (!fork.ok) throw new Error(JSON.stringify(fork))
      await rig.clock.advance(5_000)
      const again = await issuer.issue(tenant, fork.value.runId)
      if (!again.ok) throw new Error(`replay of ${name} ${runId}: ${again.refusal.message}`)
      const replay = verifyReceipt(again.value, signer.trusted)
      if (!replay.ok) throw new Error(`replay of ${name} ${runId}: ${replay.message}`)
      const { attempts, merges, outputs, run } = replay.receipt
      expect([attempts, merges, outputs]).toEqual([receipt.attempts, receipt.merges, receipt.outputs])
      expect(run.fork).toMatchObject({ runId, mode: 'replay', diverged: false })
      told.replays += 1
    }
    await engine.stop(0)
  })
})

test('the histories had something to tell', () => {
  console.info(JSON.stringify(told))
  expect(told.issued).toBeGreaterThan(100)
  expect(told.merges).toBeGreaterThan(50)
  expect(told.labels).toBeGreaterThan(50)
  expect(told.replays).toBeGreaterThan(10)
})
