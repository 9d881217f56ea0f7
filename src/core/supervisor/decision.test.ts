import { describe, expect, it } from 'vitest'
import type { Json, JsonObject } from '../json.js'
import { decisionProblems, isBelow, isDecision, LOWEST_FLOOR, type OrchestratorDecision } from './decision.js'

const problems = (value: Json | undefined) => decisionProblems(value, 'd')

describe('what a decision may say', () => {
  it.each<[string, JsonObject]>([
    ['next-worker', { kind: 'next-worker', nextWorkerIds: ['a'] }],
    ['next-worker, all of it', { kind: 'next-worker', nextWorkerIds: ['a', 'b', 'a'], confidence: 0.5 }],
    ['terminate', { kind: 'terminate' }],
    [
      'terminate, all of it',
      { kind: 'terminate', reason: 'goal-reached', confidence: 1, successCriteria: [{ key: 'k', met: false }] },
    ],
    ['terminate without any criterion', { kind: 'terminate', successCriteria: [] }],
    ['clarify', { kind: 'clarify' }],
    ['clarify with a prompt', { kind: 'clarify', prompt: 'What?', confidence: 0 }],
    [
      'clarify with questions',
      {
        kind: 'clarify',
        questions: [
          { id: 'q1', question: 'What?', schema: { type: 'string' } },
          { id: 'q2', question: '?' },
        ],
      },
    ],
    ['escalate', { kind: 'escalate' }],
    ['escalate, all of it', { kind: 'escalate', reason: 'r', title: 't', artifact: [1, null], confidence: 0.1 }],
    ['ask-user', { kind: 'ask-user', prompt: 'What?' }],
  ])('R-LOOP-2 R-ORCH-1 D1: %s', (_what, decision) => {
    expect(problems(decision)).toEqual([])
    expect(isDecision(decision)).toBe(true)
  })

  it.each<[string, Json | undefined, string]>([
    ['nothing', undefined, 'd must be an object with a kind'],
    ['a text', 'terminate', 'd must be an object with a kind'],
    ['a list', [{ kind: 'terminate' }], 'd must be an object with a kind'],
    ['no kind', {}, 'd.kind is required: one of next-worker, terminate, clarify, escalate, ask-user; add it'],
    ['an unknown kind', { kind: 'delegate' }, 'clarify, escalate, ask-user; got "delegate"'],
    ['a kind that every object has', { kind: 'toString' }, 'got "toString"'],
    ['a kind that is no text', { kind: 7 }, 'got 7'],
    ['no workers', { kind: 'next-worker' }, 'd.nextWorkerIds is required: a list of 1 to 100 items; add it'],
    [
      'an empty list of workers',
      { kind: 'next-worker', nextWorkerIds: [] },
      'd.nextWorkerIds must be a list of 1 to 100',
    ],
    ['a worker without a name', { kind: 'next-worker', nextWorkerIds: ['a', ''] }, 'd.nextWorkerIds[1] must be'],
    ['a worker whose name holds a NUL', { kind: 'next-worker', nextWorkerIds: ['a\0'] }, 'd.nextWorkerIds[0] must be'],
    ['a worker that is no text', { kind: 'next-worker', nextWorkerIds: [1] }, 'd.nextWorkerIds[0] must be'],
    [
      'a worker with too long a name',
      { kind: 'next-worker', nextWorkerIds: ['x'.repeat(257)] },
      'd.nextWorkerIds[0] must be',
    ],
    ['more workers than one turn may name', { kind: 'next-worker', nextWorkerIds: Array(101).fill('a') }, '1 to 100'],
    ['workers that are no list', { kind: 'next-worker', nextWorkerIds: 'a' }, 'd.nextWorkerIds must be'],
    ['an empty reason', { kind: 'terminate', reason: '' }, 'd.reason must be text that is not empty'],
    ['criteria that are no list', { kind: 'terminate', successCriteria: {} }, 'd.successCriteria must be a list'],
    [
      'a criterion without a key',
      { kind: 'terminate', successCriteria: [{ key: '', met: true }] },
      'd.successCriteria',
    ],
    [
      'a criterion that is not met or unmet',
      { kind: 'terminate', successCriteria: [{ key: 'k', met: 1 }] },
      'd.successCriteria',
    ],
    [
      'a criterion that says more',
      { kind: 'terminate', successCriteria: [{ key: 'k', met: true, why: 'w' }] },
      'd.successCriteria',
    ],
    ['an empty prompt', { kind: 'clarify', prompt: '' }, 'd.prompt must be text that is not empty'],
    ['no question at all', { kind: 'clarify', questions: [] }, 'd.questions must be a list of at least one'],
    ['a question without an id', { kind: 'clarify', questions: [{ question: '?' }] }, 'd.questions[0].id is required'],
    ['a question without a text', { kind: 'clarify', questions: [{ id: 'q' }] }, 'd.questions[0].question is required'],
    [
      'a question that says more',
      { kind: 'clarify', questions: [{ id: 'q', question: '?', hint: 'h' }] },
      'd.questions[0].hint is not a known field',
    ],
    [
      'a schema that is none',
      { kind: 'clarify', questions: [{ id: 'q', question: '?', schema: 1 }] },
      'd.questions[0].schema must be a JSON Schema object',
    ],
    [
      'two questions with one id',
      {
        kind: 'clarify',
        questions: [
          { id: 'q', question: '?' },
          { id: 'q', question: '!' },
        ],
      },
      'has "q" twice',
    ],
    ['an empty title', { kind: 'escalate', title: '' }, 'd.title must be text that is not empty'],
    ['an empty reason to escalate', { kind: 'escalate', reason: '' }, 'd.reason must be text that is not empty'],
    ['ask-user without a prompt', { kind: 'ask-user' }, 'd.prompt is required'],
    ['ask-user with an empty prompt', { kind: 'ask-user', prompt: '' }, 'd.prompt must be text that is not empty'],
  ])('R-ORCH-1: %s is refused', (_what, value, message) => {
    expect(problems(value)).toEqual([expect.stringContaining(message)])
    expect(isDecision(value)).toBe(false)
  })

  it.each<[JsonObject]>([
    [{ kind: 'next-worker', nextWorkerIds: ['a'], reason: 'r' }],
    [{ kind: 'terminate', nextWorkerIds: ['a'] }],
    [{ kind: 'clarify', reason: 'r' }],
    [{ kind: 'escalate', prompt: 'p' }],
    [{ kind: 'ask-user', prompt: 'p', confidence: 1 }],
  ])('R-ORCH-1: is closed per kind: %j', decision => {
    expect(problems(decision)).toEqual([
      expect.stringMatching(/^d\.\w+ is not a known field; remove it: the known fields are kind, /),
    ])
  })

  it('R-ORCH-1: everything wrong is told at once', () => {
    expect(problems({ kind: 'terminate', reason: '', confidence: 2, goal: 1 })).toHaveLength(3)
  })

  it.each([-0.001, 1.001, '0.5', null, true])('R-CONF-1: a confidence of %j is refused', confidence => {
    for (const decision of [{ kind: 'next-worker', nextWorkerIds: ['a'] }, { kind: 'terminate' }, { kind: 'clarify' }])
      expect(problems({ ...decision, confidence })).toEqual([
        expect.stringContaining('d.confidence must be a number from 0 to 1; got '),
      ])
  })

  it.each([0, 0.5, 1])('R-CONF-1: a confidence of %j is one', confidence => {
    expect(problems({ kind: 'terminate', confidence })).toEqual([])
  })
})

describe('a decision below the floor', () => {
  const worker = (confidence?: number): OrchestratorDecision => ({
    kind: 'next-worker',
    nextWorkerIds: ['a'],
    ...(confidence === undefined ? {} : { confidence }),
  })

  it.each([
    [0, 0.5, true],
    [0.4999999, 0.5, true],
    [0.5, 0.5, false],
    [0.5000001, 0.5, false],
    [0.5, 0.8, true],
    [0.8, 0.8, false],
    [1, 1, false],
    [0.9999, 1, true],
  ])('R-CONF-2: %d against a floor of %d: %s; equality does not escalate', (confidence, floor, below) => {
    expect(isBelow(worker(confidence), floor)).toBe(below)
    expect(isBelow({ kind: 'terminate', confidence }, floor)).toBe(below)
  })

  it('R-CONF-6: no confidence is no opinion', () => {
    expect(isBelow(worker(), 1)).toBe(false)
    expect(isBelow({ kind: 'terminate' }, 1)).toBe(false)
  })

  it('R-CONF-2: who asks a person anyway is not doubted', () => {
    expect(isBelow({ kind: 'clarify', confidence: 0 }, 0.5)).toBe(false)
    expect(isBelow({ kind: 'escalate', confidence: 0 }, 0.5)).toBe(false)
    expect(isBelow({ kind: 'ask-user', prompt: 'p' }, 0.5)).toBe(false)
  })

  it('R-CONF-5: the lowest floor is one half', () => {
    expect(LOWEST_FLOOR).toBe(0.5)
  })
})
