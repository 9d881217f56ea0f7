import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { startTestHost } from 'assay/testing'
import { desk } from './desk.js'

const DAY = 24 * 60 * 60 * 1000

const host = await startTestHost({
  project: 'shop',
  providers: { desk },
  script: [
    { agent: 'local.shop.writer', when: { contains: 'weather' }, reply: { refuse: true } },
    { agent: 'local.shop.writer', reply: { text: 'It ships on Monday.' } },
  ],
})
after(() => host.stop())

test('what a person accepts is sent', async () => {
  const waiting = await host.run('reply', { question: 'When does it ship?' })
  assert.equal(waiting.status, 'waiting-approval')
  await host.client.resolveInterrupt(waiting.runId, 'review', { action: 'accept' })
  const { status, outputs } = await host.settled(waiting.runId)
  assert.deepEqual({ status, outputs }, { status: 'completed', outputs: { sent: 'It ships on Monday.' } })
})

test('what nobody answers for a day is not sent', async () => {
  const { runId } = await host.run('reply', { question: 'When does it ship?' })
  host.clock.skip(DAY)
  await host.clock.advance(2_000)
  assert.deepEqual((await host.settled(runId)).outputs, { sent: 'nothing' })
})

test('a writer that refuses fails the run', async () => {
  const { status, error } = await host.run('reply', { question: 'How is the weather?' })
  assert.equal(status, 'failed')
  assert.equal(error?.code, 'envelope_refusal')
})

test('a reminder comes after ten minutes, and not before', async () => {
  const { runId } = await host.client.createRun({ workflowId: 'remind' })
  await host.told(runId, 'node.started', 'wait')
  await host.clock.advance(599_000)
  assert.equal((await host.client.getRun(runId)).status, 'running')
  await host.clock.advance(1_000)
  assert.equal((await host.settled(runId)).status, 'completed')
})

test('a refund is for billing', async () => {
  const { outputs } = await host.run('triage', { text: 'I want a refund.' })
  assert.deepEqual(outputs, { queue: 'billing' })
})
