import { describe, expect, test } from 'vitest'
import { boundGate } from '../../testing/gates.js'
import { gatedPoints } from './gated-points.js'

const at = (placement: 'phase_exit' | 'workflow_exit' | 'checkpoint', more: Parameters<typeof boundGate>[0] = {}) =>
  boundGate({ ...more, position: { workflow_id: 'w', phase_id: 'n', placement, ...more.position } })
const hands = () => true
const keeps = () => false
const NOW = { engineVersion: '3' }

describe('S10: where the store waits for a pass', () => {
  test('at the merge of workers’ results, where the node hands work over; else at the node’s own', () => {
    expect(gatedPoints(hands, [at('phase_exit')], NOW)).toMatchObject([{ point: 'harvest', nodeId: 'n' }])
    expect(gatedPoints(keeps, [at('checkpoint')], NOW)).toMatchObject([{ point: 'node', nodeId: 'n' }])
    expect(gatedPoints(hands, [at('workflow_exit')], NOW)).toMatchObject([{ point: 'run', nodeId: 'n' }])
  })

  test('nowhere for a gate that does not block', () => {
    expect(gatedPoints(hands, [at('phase_exit', { behaviour: { blocking: false } })], NOW)).toEqual([])
  })

  test('only for one worker, where the gate names one', () => {
    const position = { workflow_id: 'w', phase_id: 'n', placement: 'phase_exit' as const, worker_id: 'v' }
    expect(gatedPoints(hands, [at('phase_exit', { position })], NOW)).toMatchObject([{ workerId: 'v' }])
  })

  test('at what a tool brings, where the gate names one, whatever the node does', () => {
    const position = { workflow_id: 'w', phase_id: 'n', placement: 'checkpoint' as const, tool_name: 'mcp:search' }
    expect(gatedPoints(keeps, [at('checkpoint', { position })], NOW)).toEqual([
      { gateId: 'g1', point: 'tool', nodeId: 'n', workerId: 'mcp:search', confirm: 'full' },
    ])
  })

  test('a run that began under older rules says nothing of what is confirmed', () => {
    const [before, now] = ['2', '3'].map(engineVersion => gatedPoints(keeps, [at('phase_exit')], { engineVersion })[0])
    expect([before?.confirm, now?.confirm]).toEqual([null, 'full'])
  })
})
