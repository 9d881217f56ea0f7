import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { startTestHost } from 'assay/testing'

// The offline model says what scripted.yaml tells it to, also where the project has another one.
const host = await startTestHost({ project: '.', settings: { 'models.worker': 'scripted:scripted' } })
after(() => host.stop())

test('the goal takes a run for each item, and is satisfied when its gate says so', async () => {
  const { goals } = host.client
  const [made] = (await goals.list()).goals
  assert.equal(made.state, 'active')
  const told = []
  for await (const { type } of goals.follow(made.id)) {
    told.push(type)
    // It waits for its next minute, which comes sooner here.
    if (type === 'assay.arm.set') await host.clock.advance(60_000)
  }
  assert.equal(told.at(-1), 'assay.stream.ended')
  const goal = await goals.get(made.id)
  assert.deepEqual([goal.state, goal.progress.iterations], ['satisfied', 3])
  const { runs } = await host.client.listRuns({ goalId: made.id })
  assert.equal(runs.length, 3)
})
