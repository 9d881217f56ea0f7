import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import { after, test } from 'node:test'
import { startTestHost } from 'assay/testing'

// The offline model says what scripted.yaml tells it to, also where the project has another one. What is published here goes to
// this machine, which a host asks only when it is told to.
const host = await startTestHost({
  project: '.',
  settings: { 'models.worker': 'scripted:scripted', 'steps.allowPrivate': true },
})
after(() => host.stop())

const WEEK = 7 * 24 * 60 * 60 * 1000

const answer = (runId, value) => host.client.resolveInterrupt(runId, 'ask', value)

test('an invented commit is found, and a person sees the corrected notes only', async () => {
  const waiting = await host.run('release-notes')
  assert.equal(waiting.status, 'waiting-approval')
  assert.doesNotMatch(JSON.stringify(waiting.interrupt), /badf00d/)
  await answer(waiting.runId, { action: 'accept' })
  const { status, outputs } = await host.settled(waiting.runId)
  assert.equal(status, 'completed')
  assert.match(outputs.notes, /^- Starts twice as fast \[a1b2c3d\]\n- The window stays/)
  assert.equal(outputs.where, 'release-notes.md in the workspace')
  const { verifications } = await host.client.listVerifications(waiting.runId)
  assert.deepEqual(
    verifications.map(({ outcome }) => outcome),
    ['revise', 'pass'],
  )
})

test('notes that are sent back with a remark are written anew, and published once they are approved', async () => {
  const keys = []
  const receiver = createServer((request, response) => {
    keys.push(request.headers['idempotency-key'])
    response.end('{}')
  })
  await new Promise(resolve => receiver.listen(0, '127.0.0.1', resolve))
  const publishTo = `http://127.0.0.1:${receiver.address().port}/notes`
  try {
    const { runId } = await host.run('release-notes', { publishTo })
    await answer(runId, { action: 'refine', refineFeedback: { scope: 'whole', text: 'Say how much faster.' } })
    const again = await host.settled(runId)
    assert.equal(again.status, 'waiting-approval')
    assert.match(JSON.stringify(again.interrupt), /half the time/)
    assert.equal(keys.length, 0)
    await answer(runId, { action: 'accept' })
    const { outputs } = await host.settled(runId)
    assert.match(outputs.notes, /^- Starts in half the time \[a1b2c3d\]/)
    assert.equal(outputs.where, publishTo)
    assert.equal(keys.length, 1)
  } finally {
    receiver.close()
  }
})

test('what a person refuses, or nobody answers for a week, is not published', async () => {
  const refused = await host.run('release-notes')
  await answer(refused.runId, { action: 'reject' })
  assert.deepEqual((await host.settled(refused.runId)).outputs, { reason: 'not approved' })
  const forgotten = await host.run('release-notes')
  host.clock.skip(WEEK)
  await host.clock.advance(2_000)
  assert.deepEqual((await host.settled(forgotten.runId)).outputs, { reason: 'not approved' })
})
