import { describe, expect, test } from 'vitest'
import { checkLog } from './check-log.js'
import type { CheckInput } from './checked.js'

const at = Date.parse('2026-01-01T00:00:00Z')
const event = (sequence: number, type: string, payload: object, causationId: string | null) => ({
  sequence,
  eventId: `r:${sequence}`,
  type,
  payload: { ...payload },
  causationId,
  at: at + sequence,
})

const log = (payload: object, causationId: string | null, type = 'agent.reasoned'): CheckInput => ({
  dialect: 'openwop',
  runs: [
    {
      runId: 'r',
      events: [event(0, 'run.started', { workflowId: 'w' }, null), event(1, type, payload, causationId)],
    },
  ] as unknown as CheckInput['runs'],
})

const REASONED = { agentId: 'abc', reasoning: 'so', verbosity: 'full' }
const found = (input: CheckInput) =>
  checkLog(input)
    .map(({ rule }) => rule)
    .filter(rule => rule.startsWith('L3'))

describe('R-XHOST-3 R-XHOST-4: in the log of any host', () => {
  test('a cause on another host is not looked for here', () => {
    expect(found(log({ ...REASONED, causationHostId: 'other.example' }, 'elsewhere:7'))).toEqual([])
    expect(found({ ...log(REASONED, 'elsewhere:7'), complete: true })).toContain('L3')
  })

  test('no other event names a host, and none without a cause', () => {
    expect(found(log({ nodeId: 'a', typeId: 't', causationHostId: 'x' }, 'elsewhere:7', 'node.started'))).toEqual([
      'L3b',
    ])
    expect(found(log({ ...REASONED, causationHostId: 'x' }, null))).toEqual(['L3b'])
  })
})
