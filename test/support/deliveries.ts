import { createHmac } from 'node:crypto'
import { expect } from 'vitest'
import type { Received } from '../e2e/webhooks/sink.js'

/** One request that a receiver got, by the event it tells of. */
export type Told = { readonly runId: string; readonly sequence: number; readonly type: string; readonly id: string }

/** The event a request tells of; fails when its signature is not that of `secret`. */
export function toldBy({ body, headers }: Received, secret: string): Told {
  const signature = createHmac('sha256', secret).update(`${headers['x-openwop-timestamp']}.${body}`).digest('hex')
  expect(headers['x-openwop-signature']).toBe(`sha256=${signature}`)
  const { runId, event } = JSON.parse(body) as { runId: string; event: { sequence: number; type: string } }
  return { runId, sequence: event.sequence, type: event.type, id: String(headers['x-openwop-delivery-id']) }
}

/** In order within each run, and a repetition under the id it had before. */
export function expectFaithful(told: readonly Told[]): void {
  const latest = new Map<string, Told>()
  const ids = new Map<string, string>()
  for (const one of told) {
    const before = latest.get(one.runId)
    const from = before === undefined ? 'nothing' : `${before.sequence}`
    expect(one.sequence, `${one.runId} after ${from}`).toBeGreaterThanOrEqual(before?.sequence ?? 0)
    latest.set(one.runId, one)
    const event = `${one.runId}:${one.sequence}`
    expect(ids.get(event) ?? one.id, event).toBe(one.id)
    ids.set(event, one.id)
  }
  expect(new Set(ids.values()).size, 'events share a delivery id').toBe(ids.size)
}

export const eventsOf = (told: readonly Told[]): Set<string> =>
  new Set(told.map(({ runId, sequence }) => `${runId}:${sequence}`))
