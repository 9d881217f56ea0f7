import { expect, test } from 'vitest'
import type { JsonObject } from '../json.js'
import { schedulesOf, triggerProblems } from './triggers.js'

const daily = (more: JsonObject = {}, config: JsonObject = {}): JsonObject => ({
  id: 'daily',
  type: 'schedule',
  config: { cron: '0 9 * * *', ...config },
  ...more,
})

test('a schedule is read with its defaults, and one that is switched off is none', () => {
  expect(triggerProblems([daily(), daily({ id: 'off', enabled: false, config: { cron: 'x' } })])).toEqual([])
  const full = { timezone: 'Europe/Berlin', inputs: { n: 1 }, missed: 'all', maxMissed: 3, jitterSeconds: 30 }
  expect(
    schedulesOf({
      triggers: [daily(), daily({ id: 'full' }, full), daily({ enabled: false }), { id: 'm', type: 'manual' }],
    }),
  ).toEqual([
    {
      triggerId: 'daily',
      inputs: {},
      arm: { kind: 'schedule', cron: '0 9 * * *', timezone: 'UTC', missed: { policy: 'once' }, jitterMs: 0 },
    },
    {
      triggerId: 'full',
      inputs: { n: 1 },
      arm: {
        kind: 'schedule',
        cron: '0 9 * * *',
        timezone: 'Europe/Berlin',
        missed: { policy: 'all', most: 3 },
        jitterMs: 30_000,
      },
    },
  ])
})

test.each<[string, JsonObject, string]>([
  ['no expression', daily({ config: {} }), 'triggers["daily"].config.cron is required'],
  ['no config', { id: 'daily', type: 'schedule' }, 'triggers["daily"].config.cron is required'],
  ['one that is none', daily({}, { cron: '61 * * * *' }), 'triggers["daily"].config.cron has "61" as its minute'],
  ['a name that is nearly one', daily({}, { timeZone: 'UTC' }), 'did you mean triggers["daily"].config.timezone'],
  ['a zone that cannot be one', daily({}, { timezone: '' }), 'must be the name of a time zone'],
  ['another policy', daily({}, { missed: 'never' }), 'triggers["daily"].config.missed must be'],
  ['a number that says nothing', daily({}, { maxMissed: 3 }), 'maxMissed says nothing where missed is not "all"'],
  ['too many', daily({}, { missed: 'all', maxMissed: 101 }), 'maxMissed must be a whole number from 1 to 100'],
  ['too much jitter', daily({}, { jitterSeconds: 3_601 }), 'jitterSeconds must be a whole number from 0 to 3600'],
  ['an id that names nothing', daily({ id: 'a b' }), 'the id of a schedule must be 1 to 64 letters'],
  ['a node', daily({ nodeId: 'a' }), 'triggers["daily"].nodeId is read by nothing'],
])('%s is refused', (_, trigger, problem) => {
  expect(triggerProblems([trigger])).toEqual([expect.stringContaining(problem)])
  expect(schedulesOf({ triggers: [trigger] })).toEqual([])
})

test('each has its own id, and there are not too many of them', () => {
  expect(triggerProblems([daily(), daily()])).toEqual([
    'triggers: id "daily" is used twice; give each schedule its own',
  ])
  const many = Array.from({ length: 17 }, (_, i) => daily({ id: `t${i}` }))
  expect(triggerProblems(many)).toEqual(['triggers has 17 schedules; the limit is 16, so split the workflow'])
})

const beat = (more: JsonObject = {}, config: JsonObject = {}): JsonObject => ({
  id: 'beat',
  type: 'event',
  eventType: 'heartbeat.stateChanged',
  config: { intervalSeconds: 60, probes: [{ type: 'http', url: 'https://example.com' }], ...config },
  ...more,
})

test('a heartbeat is read with its defaults', () => {
  expect(triggerProblems([beat()])).toEqual([])
  expect(schedulesOf({ triggers: [beat(), beat({ id: 'off', enabled: false })] })).toEqual([
    {
      triggerId: 'beat',
      inputs: {},
      arm: {
        kind: 'heartbeat',
        everyMs: 60_000,
        maxRuntimeMs: 30_000,
        predicate: { probes: [{ type: 'http', url: 'https://example.com' }] },
      },
    },
  ])
})

test.each<[string, JsonObject, string]>([
  ['no interval', beat({ config: { probes: [{}] } }), 'triggers["beat"].config.intervalSeconds is required'],
  ['one that is too short', beat({}, { intervalSeconds: 4 }), 'intervalSeconds must be a whole number from 5 to'],
  [
    'one that may take too long',
    beat({}, { maxRuntimeSeconds: 301 }),
    'maxRuntimeSeconds must be a whole number from 1 to 300',
  ],
  ['nothing to look at', beat({}, { probes: [] }), 'triggers["beat"].config.probes must be a list of 1 to 20'],
  ['an expression', beat({}, { cron: '* * * * *' }), 'triggers["beat"].config'],
  ['another event', beat({ eventType: 'heartbeat' }), 'with eventType "heartbeat.stateChanged"'],
  ['a node', beat({ nodeId: 'a' }), 'a heartbeat starts the whole workflow'],
])('a heartbeat with %s is refused', (_, trigger, problem) => {
  expect(triggerProblems([trigger])).toEqual([expect.stringContaining(problem)])
  expect(schedulesOf({ triggers: [trigger] })).toEqual([])
})
