import { expect } from 'vitest'
import { type HostProcess, isTerminal, until } from './host-process.js'

/** What a client does, with an Idempotency-Key for whatever it may have to do again after a crash. */

type Fork = { readonly mode: 'replay' | 'branch'; readonly fromSeq?: number }

const keyed = (key?: string): Record<string, string> => (key === undefined ? {} : { 'idempotency-key': key })

export async function createRun(
  host: HostProcess,
  workflowId: string,
  key?: string,
  configurable?: object,
): Promise<string> {
  const { status, body } = await host.call('POST', '/v1/runs', { workflowId, configurable }, keyed(key))
  expect(status, JSON.stringify(body)).toBe(201)
  return body.runId
}

export async function forkRun(host: HostProcess, runId: string, fork: Fork, key?: string): Promise<string> {
  const { status, body } = await host.call('POST', `/v1/runs/${runId}:fork`, fork, keyed(key))
  expect(status, JSON.stringify(body)).toBe(201)
  return body.runId
}

export const answer = (host: HostProcess, runId: string, nodeId: string, resumeValue: object, key?: string) =>
  host.call('POST', `/v1/runs/${runId}/interrupts/${nodeId}`, { resumeValue }, keyed(key))

export const answerGate = (host: HostProcess, runId: string, action: string, key?: string) =>
  answer(host, runId, 'gate', { action }, key)

export async function cancelRun(host: HostProcess, runId: string, key?: string): Promise<void> {
  const { status, body } = await host.call('POST', `/v1/runs/${runId}/cancel`, {}, keyed(key))
  expect(status, JSON.stringify(body)).toBe(200)
}

export const statusOf = async (host: HostProcess, runId: string): Promise<string> =>
  (await host.call('GET', `/v1/runs/${runId}`)).body.status

export const ended = (host: HostProcess, runId: string): Promise<boolean> =>
  until(`run ${runId} to end`, async () => isTerminal(await statusOf(host, runId)))

/** Until someone is asked. A run that has gone on since, because the answer was heard before a crash, was too. */
export const asked = (host: HostProcess, runId: string): Promise<boolean> =>
  until(`run ${runId} to ask`, async () => {
    const status = await statusOf(host, runId)
    return status.startsWith('waiting-') || isTerminal(status)
  })
