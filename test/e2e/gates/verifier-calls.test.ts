import { mkdtempSync, rmSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { answer, createRun, ended } from '../../support/client.js'
import { until } from '../../support/host-process.js'
import { byEffect, kill } from '../agents/world.js'
import { silentAt, USAGE } from './judges.js'
import { named, settled } from './stories.js'
import { hosted, soundRuns } from './telling.js'

/** Hosts that are killed while a verifier thinks: the request is out, and nobody will hear the answer. */

const scratch = mkdtempSync(path.join(os.tmpdir(), 'assay-gates-calls-'))
const counted = { kills: 0, requests: 0, repeated: 0, merges: 0 }
let worlds = 0
afterAll(() => {
  console.log(`verifiers whose hosts were killed while they thought: ${JSON.stringify(counted)}`)
  rmSync(scratch, { recursive: true, force: true })
})

/** Two gates, so two verifiers; the host dies during the call of one of them. */
async function killedIn(call: number, budget?: object) {
  worlds += 1
  const folder = path.join(scratch, String(worlds))
  const database = `sqlite:${folder}/data/assay.db`
  const story = { ...named('passed'), plan: silentAt(call) }
  const { model, spawn } = await hosted(story, { folder, database })
  try {
    const first = await spawn()
    const runId = await createRun(first, 'passed', 'once', budget && { budget })
    await until('the call', () => model.requests().length > call)
    await kill(first)
    counted.kills += 1
    const host = await spawn()
    await settled(host, runId)
    const { body } = await host.call('GET', `/v1/runs/${runId}`)
    if (body.status.startsWith('waiting-')) {
      expect((await answer(host, runId, 'ask', { action: 'reject' })).status).toBe(200)
      await ended(host, runId)
    }
    await host.finish()
    const { runs, merges } = await soundRuns(database)
    const asked = [...byEffect(model.requests()).values()].map(requests => requests.length)
    counted.requests += model.requests().length
    counted.repeated += model.requests().length - asked.length
    counted.merges += merges
    const told = (type: string) => runs.flatMap(({ events }) => events.filter(event => event.type === type))
    const votes = JSON.stringify(told('assay.verifier.ended').map(({ payload }) => payload))
    return { snapshot: body, asked, lost: told('assay.model.lost').length, merges, votes }
  } finally {
    await model.close()
  }
}

type Tokens = { readonly tokens: number }
type Spent = { readonly assay?: { readonly spend?: Tokens; readonly held?: Tokens } }
const taken = ({ assay }: Spent): number => (assay?.spend?.tokens ?? 0) + (assay?.held?.tokens ?? 0)

describe('F8: SIGKILL while a verifier thinks', () => {
  it.each([0, 1])('R-DWS-36: in call %i: it is said to be lost and made once more, the other is not', async call => {
    const { snapshot, asked, lost, merges, votes } = await killedIn(call)
    expect(snapshot, votes).toMatchObject({ status: 'completed', variables: { capital: 'Paris' } })
    expect(asked, votes).toEqual([1, 1].map((one, i) => (i === call ? 2 : one)))
    expect(lost).toBe(1)
    expect(merges).toBe(2)
    expect(taken(snapshot as Spent)).toBeGreaterThanOrEqual(3 * USAGE.total_tokens)
    expect((snapshot as Spent).assay?.spend?.tokens).toBe(2 * USAGE.total_tokens)
  })

  // Enough for both calls and what is set aside for the second, but not for a third.
  const maxTokens = 2 * USAGE.total_tokens + 2_000

  it.each([0, 1])('R-DWS-27, R-BUDGET-4: in call %i: a ceiling holds by what the provider has served', async call => {
    const { snapshot, asked, lost, merges } = await killedIn(call, { maxTokens })
    const served = asked.reduce((sum, one) => sum + one, 0)
    expect(served).toBeGreaterThan(call)
    expect(served * USAGE.total_tokens).toBeLessThanOrEqual(maxTokens)
    expect(taken(snapshot as Spent)).toBeLessThanOrEqual(maxTokens)
    expect(lost).toBe(1)
    // Nobody could judge it any more: that is no pass.
    expect(snapshot, JSON.stringify(snapshot)).toMatchObject({ variables: { capital: 'unknown' } })
    expect(merges).toBe(0)
  })
})
