import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { startTestHost } from 'assay/testing'

// The offline model says what scripted.yaml tells it to, also where the project has another one.
const host = await startTestHost({ project: '.', settings: { 'models.worker': 'scripted:scripted' } })
after(() => host.stop())

test('the researcher is asked first, and the writer is given what was found', async () => {
  const run = await host.run('brief', { topic: 'rain' })
  assert.equal(run.status, 'completed')
  assert.match(run.outputs.text, /petrichor/)
  const events = await host.client.readEvents(run.runId)
  const decided = events.filter(({ type }) => type === 'runOrchestrator.decided')
  assert.deepEqual(
    decided.map(({ payload }) => payload.decision.nextWorkerIds?.[0] ?? payload.decision.reason),
    ['local.team.researcher', 'local.team.writer', 'goal-reached'],
  )
})
