import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { startTestHost } from 'assay/testing'

// The offline model says what scripted.yaml tells it to, also where the project has another one.
const host = await startTestHost({ project: '.', settings: { 'models.worker': 'scripted:scripted' } })
after(() => host.stop())

test('a wrong answer is sent back, and only the right one is ever an output', async () => {
  const run = await host.run('answer')
  assert.equal(run.status, 'completed')
  assert.match(run.outputs.answer, /^Twice in a lunar day/)
  const { verifications } = await host.client.listVerifications(run.runId)
  assert.deepEqual(
    verifications.map(({ attempt, outcome }) => [attempt, outcome]),
    [
      [1, 'revise'],
      [2, 'pass'],
    ],
  )
})
