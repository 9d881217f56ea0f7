import { describe, expect, it } from 'vitest'
import { claimProblems } from './claims.js'
import type { OrchestratorDecision } from './decision.js'

const standing = (...unverified: { gateId: string; nodeId: string; workerId?: string; criteria: string[] }[]) => ({
  unverified,
  gaveUp: false,
})

const end = (successCriteria?: readonly { key: string; met: boolean }[]): OrchestratorDecision =>
  ({ kind: 'terminate', ...(successCriteria ? { successCriteria } : {}) }) as OrchestratorDecision

const against = { gateId: 'g1', nodeId: 'dispatch', workerId: 'w', criteria: ['correctness', 'style'] }

describe('what is claimed at the end of a run', () => {
  it('R-VERIFY-12: is nobody’s business where no gate stands against it', () => {
    expect(claimProblems(end(), standing())).toEqual([])
    expect(claimProblems(end([{ key: 'correctness', met: true }]), standing())).toEqual([])
  })

  it('R-VERIFY-12: does not concern a decision that ends nothing', () => {
    expect(claimProblems({ kind: 'next-worker', nextWorkerIds: ['w'] }, standing(against))).toEqual([])
  })

  it.each(['correctness', 'style', 'g1'])('A30: “%s” is met, and the gate says otherwise', key => {
    expect(claimProblems(end([{ key, met: true }]), standing(against))).toEqual([
      `successCriteria says that "${key}" is met, and gate "g1" says that it is not`,
    ])
  })

  it('A30: a false claim is not mended by an honest one', () => {
    const both = [
      { key: 'correctness', met: true },
      { key: 'else', met: false },
    ]
    expect(claimProblems(end(both), standing(against))).toHaveLength(1)
  })

  it('R-VERIFY-19: whoever says that the goal is not reached claims nothing', () => {
    expect(claimProblems(end([{ key: 'else', met: false }]), standing(against))).toEqual([])
  })

  it('R-VERIFY-12: saying nothing, or something else, does not make up for it; what to do is said for each', () => {
    const node = { gateId: 'g2', nodeId: 'agent', criteria: ['x'] }
    for (const claim of [end(), end([]), end([{ key: 'else', met: true }])])
      expect(claimProblems(claim, standing(against, node))).toEqual([
        expect.stringMatching(/^gate "g1" has not passed the latest result of "w"; have it done again, /),
        expect.stringMatching(/^gate "g2" has not passed the latest result of "agent"; /),
      ])
  })

  it('R-VERIFY-19: a worker that gave up is no success of whoever it worked for', () => {
    const standing = { unverified: [], gaveUp: true }
    expect(claimProblems(end([{ key: 'else', met: true }]), standing)).toEqual([
      expect.stringMatching(/^a worker says itself that it has not reached its goal; /),
    ])
    expect(claimProblems(end([{ key: 'else', met: false }]), standing)).toEqual([])
  })
})
