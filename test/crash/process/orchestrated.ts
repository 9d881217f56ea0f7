import { expect } from 'vitest'
import { answer, asked, cancelRun, createRun, ended } from '../../support/client.js'
import { type HostProcess, RUN_WRITES, until } from '../../support/host-process.js'
import { expectRetold } from '../../support/retold.js'
import type { Play, Scenario } from './scenarios.js'

const orchestrated = (name: string, play: Play['play']): Scenario => ({
  name,
  counted: RUN_WRITES,
  prepare: async () => ({ play, check: ({ database }) => expectRetold(database) }),
})

async function say(host: HostProcess, runId: string, nodeId: string, value: object, key: string): Promise<void> {
  const { status, body } = await answer(host, runId, nodeId, value, key)
  expect(status, JSON.stringify(body)).toBe(200)
}

/** Two workers, the second with what the first brought back; then one that fails, and another in its place. */
const errands = orchestrated('errands', async (host, key) => {
  await ended(host, await createRun(host, 'errands', key))
})

/** The supervisor asks, then is not sure and is confirmed; its worker is cancelled, and it hands to another. */
const doubted = orchestrated('doubted', async (host, key) => {
  const runId = await createRun(host, 'doubted', key)
  await say(host, runId, 'sup', { answers: { answer: 'here' } }, `${key}-where`)
  await say(host, runId, 'sup', { action: 'accept' }, `${key}-sure`)
  const worker = await until('the worker', async () => {
    const { body } = await host.call('GET', '/v1/runs?workflowId=sleeper')
    return body.runs[0]
  })
  await cancelRun(host, worker.runId, `${key}-cancel`)
  await ended(host, runId)
})

/** A provider decides; three workers at once, the first to end being merged last; then the bound of the loop. */
const fanned: Scenario = {
  ...orchestrated('fanned', async (host, key) => {
    await ended(host, await createRun(host, 'fanned', key, { maxLoopIterations: 1 }))
  }),
  anyOrder: true,
}

const attested = orchestrated('attested', async (host, key) => {
  const runId = await createRun(host, 'attested', key)
  await asked(host, runId)
  await say(host, runId, 'sub', { action: 'accept' }, `${key}-merge`)
  await ended(host, runId)
})

export const ORCHESTRATED: readonly Scenario[] = [errands, doubted, fanned, attested]
