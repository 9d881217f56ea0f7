import { expect } from 'vitest'
import { answer, asked, createRun, ended } from '../../support/client.js'
import { type HostProcess, isTerminal, until } from '../../support/host-process.js'
import type { ServerStep } from '../../support/openai-server.js'
import { DOWN, HONEST } from './judges.js'

/** What a client wants of a gated run, from the first request to the last end; after a crash it does it all again. */
export type Story = {
  /** Also the id of its workflow. */
  readonly name: string
  readonly plan: readonly ServerStep[]
  /** Some of it happens at once, so not every telling says it in the same order. */
  readonly anyOrder?: true
  /** What a person says, each time the run asks. */
  readonly answers?: readonly string[]
  /** How the run ends, and what it then holds for the capital. */
  readonly status: 'completed' | 'failed'
  readonly capital: unknown
}

/** A worker's result is held back. */
export const HARVESTED: readonly Story[] = [
  { name: 'passed', plan: HONEST, status: 'completed', capital: 'Paris' },
  { name: 'revised', plan: HONEST, status: 'completed', capital: 'Paris' },
  { name: 'rejected', plan: HONEST, status: 'failed', capital: 'unknown' },
  { name: 'forced', plan: HONEST, status: 'completed', capital: 'London' },
  { name: 'escalated', plan: HONEST, answers: ['accept'], status: 'completed', capital: 'London' },
  { name: 'unjudged', plan: DOWN, answers: ['accept'], status: 'completed', capital: 'Paris' },
  { name: 'attested', plan: HONEST, answers: ['accept'], status: 'completed', capital: 'Paris' },
]

/** So is what a run came to, an agent's result, what workers of a supervisor bring, and what several judge. */
export const ELSEWHERE: readonly Story[] = [
  { name: 'left', plan: HONEST, status: 'completed', capital: 'Paris' },
  { name: 'written', plan: HONEST, status: 'completed', capital: { answer: 'Paris' } },
  { name: 'supervised', plan: HONEST, status: 'completed', capital: 'Paris' },
  { name: 'panel', plan: HONEST, anyOrder: true, status: 'completed', capital: 'Paris' },
]

export const ALL: readonly Story[] = [...HARVESTED, ...ELSEWHERE]

export const named = (name: string): Story => ALL.find(story => story.name === name)!

export async function play({ name, answers = [], status, capital }: Story, host: HostProcess, key: string) {
  const runId = await createRun(host, name, key)
  for (const [i, action] of answers.entries()) {
    await asked(host, runId)
    const said = await answer(host, runId, 'ask', { action }, `${key}-${i}`)
    expect(said.status, JSON.stringify(said.body)).toBe(200)
  }
  await ended(host, runId)
  const { body } = await host.call('GET', `/v1/runs/${runId}`)
  expect(body, JSON.stringify(body)).toMatchObject({ status, variables: { capital } })
}

/** Until the run has ended, or asks somebody. */
export const settled = (host: HostProcess, runId: string): Promise<string> =>
  until(`run ${runId} to settle`, async () => {
    const { status } = (await host.call('GET', `/v1/runs/${runId}`)).body
    return isTerminal(status) || status.startsWith('waiting-') ? status : undefined
  })
