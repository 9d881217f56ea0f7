import { describe, expect, it } from 'vitest'
import type { Webhook } from '../engine/ports/deliveries.js'
import { HEALTHY } from './circuit.js'
import { wants, watches } from './match.js'

const webhook = (over: Partial<Webhook> = {}): Webhook => ({
  webhookId: 'wh_1',
  tenant: 'acme',
  url: 'https://sink.example/',
  events: ['*'],
  tags: [],
  secret: 's',
  createdAt: 0,
  health: HEALTHY,
  ...over,
})

describe('what a subscription is told', () => {
  it.each([
    ['*', 'run.started', true],
    ['run.started', 'run.started', true],
    ['run.started', 'run.started.twice', false],
    ['run.started', 'run', false],
    ['run.*', 'run.started', true],
    ['run.*', 'run', false],
    ['run.*', 'runner.started', false],
    ['assay.stop.*', 'assay.stop.requested', true],
    ['assay.*', 'assay.stop.requested', true],
    ['assay.stop.*', 'assay.stopped', false],
    ['node.*', 'run.started', false],
  ])('%s covers %s: %s', (wanted, type, expected) => {
    expect(wants(webhook({ events: ['no.such', wanted] }), type)).toBe(expected)
  })

  it('only of runs of its own tenant', () => {
    expect(watches(webhook(), { tenant: 'acme', tags: [] })).toBe(true)
    expect(watches(webhook(), { tenant: 'acme~test', tags: [] })).toBe(false)
  })

  it('with tags, only of runs that have one of them', () => {
    const tagged = webhook({ tags: ['a', 'b'] })
    const runs = [[], ['c'], ['a'], ['c', 'b']]
    expect(runs.map(tags => watches(tagged, { tenant: 'acme', tags }))).toEqual([false, false, true, true])
  })

  it('nothing once it has failed', () => {
    expect(watches(webhook({ health: { ...HEALTHY, state: 'failed' } }), { tenant: 'acme', tags: [] })).toBe(false)
  })
})
