import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { startTestHost } from 'assay/testing'

// The offline model says what scripted.yaml tells it to, also where the project has another one.
const host = await startTestHost({ project: '.', settings: { 'models.worker': 'scripted:scripted' } })
after(() => host.stop())

const WEEK = 7 * 24 * 60 * 60 * 1000

test('an invented commit is found, and a person sees the corrected notes only', async () => {
  const waiting = await host.run('release-notes')
  assert.equal(waiting.status, 'waiting-approval')
  assert.doesNotMatch(JSON.stringify(waiting.interrupt), /badf00d/)
  await host.client.resolveInterrupt(waiting.runId, 'ask', { action: 'accept' })
  const { status, outputs } = await host.settled(waiting.runId)
  assert.equal(status, 'completed')
  assert.match(outputs.notes, /^- Starts twice as fast \[a1b2c3d\]\n- The window stays/)
  const { verifications } = await host.client.listVerifications(waiting.runId)
  assert.deepEqual(
    verifications.map(({ outcome }) => outcome),
    ['revise', 'pass'],
  )
})

test('what a person refuses, or nobody answers for a week, is no output', async () => {
  const refused = await host.run('release-notes')
  await host.client.resolveInterrupt(refused.runId, 'ask', { action: 'reject' })
  assert.deepEqual((await host.settled(refused.runId)).outputs, { reason: 'not approved' })
  const forgotten = await host.run('release-notes')
  host.clock.skip(WEEK)
  await host.clock.advance(2_000)
  assert.deepEqual((await host.settled(forgotten.runId)).outputs, { reason: 'not approved' })
})
