import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Recorded } from '../run/events.js'
import { compareSteps, labelsOf, sharedLength } from './comparison.js'
import { StepFold } from './steps.js'
import '../../../test/support/seed.js'

/** A run by hand: each line is one time that a node works. */
type Line = {
  readonly node: string
  readonly tries: number
  readonly end: 'completed' | 'failed' | 'cancelled' | 'open' | 'skipped'
  readonly value: number
  readonly tokens: number
  readonly model: string
  readonly verdict: 'pass' | 'fail' | undefined
}

/** The events of these lines, one line after the other. */
function told(lines: readonly Line[]): Recorded[] {
  const events: object[] = [{ type: 'run.started', payload: {} }]
  const say = (type: string, nodeId: string, payload: object) =>
    events.push({ type, nodeId, payload: { nodeId, ...payload } })
  for (const { node, tries, end, value, tokens, model, verdict } of lines) {
    if (end === 'skipped') {
      say('node.skipped', node, { reason: 'x' })
      continue
    }
    for (let attempt = 0; attempt < tries; attempt += 1) say('node.started', node, { attempt })
    say('agent.invocation.started', node, { resolvedProvider: 'p', resolvedModel: model })
    say('provider.usage', node, { totalTokens: tokens, costEstimateUsd: tokens / 1_000 })
    say('variable.changed', node, { name: 'v', next: tokens % 2 })
    if (verdict) say('dws.verification.verdict_rendered', node, { gateId: 'g', dwsVerdict: verdict })
    if (end === 'completed') say('node.completed', node, { outputs: { value } })
    if (end === 'failed') say('node.failed', node, { error: { code: 'effect_failed' }, attempts: tries })
    if (end === 'cancelled') say('node.cancelled', node, { reason: 'x' })
  }
  return events.map((event, sequence) => ({ runId: 'r', at: 0, ...event, sequence }) as unknown as Recorded)
}

function stepped(lines: readonly Line[], from: number, most = 1_000) {
  const fold = new StepFold(from, most)
  for (const event of told(lines)) fold.hear(event)
  return fold.told
}

const line: fc.Arbitrary<Line> = fc.record({
  node: fc.constantFrom('a', 'b', 'c'),
  tries: fc.integer({ min: 1, max: 3 }),
  end: fc.constantFrom('completed', 'completed', 'failed', 'cancelled', 'open', 'skipped'),
  value: fc.integer({ min: 0, max: 2 }),
  tokens: fc.integer({ min: 0, max: 5 }),
  model: fc.constantFrom('m', 'n'),
  verdict: fc.constantFrom(undefined, 'pass', 'fail'),
})
// A node that is open is not started again.
const lines = fc
  .array(line, { maxLength: 12 })
  .map(all => all.filter(({ node }, at) => !all.slice(0, at).some(one => one.node === node && one.end === 'open')))

/** The same said in another way: by node, the lists of what happened to it. */
function modelOf(a: readonly Line[], b: readonly Line[]) {
  const looks = ({ tries, end, value, tokens, model, verdict }: Line) =>
    end === 'skipped'
      ? 'skipped'
      : [tries, end, end === 'completed' ? value : '-', tokens % 2, model, verdict ?? '-'].join(' ')
  const pairs = new Map<string, boolean>()
  for (const node of ['a', 'b', 'c']) {
    const [ours, theirs] = [a, b].map(all => all.filter(one => one.node === node).map(looks)) as [string[], string[]]
    for (let time = 0; time < Math.max(ours.length, theirs.length); time += 1)
      pairs.set(`${node} ${time + 1}`, ours[time] === theirs[time])
  }
  const sum = (all: readonly Line[]) =>
    all.reduce((tokens, one) => tokens + (one.end === 'skipped' ? 0 : one.tokens), 0)
  return { pairs, more: sum(b) - sum(a) }
}

describe('two runs with a common past', () => {
  test('R-REST-13: every time that a node works is held against the same time in the other run, as a model finds it too', () => {
    fc.assert(
      fc.property(lines, lines, lines, (past, ours, theirs) => {
        const cut = told(past.filter(({ end }) => end !== 'open')).length
        const shared = past.filter(({ end }) => end !== 'open')
        const { steps, more } = compareSteps(stepped([...shared, ...ours], cut), stepped([...shared, ...theirs], cut))
        const model = modelOf(ours, theirs)
        const found = new Map(steps.map(({ nodeId, time, differs }) => [`${nodeId} ${time}`, differs.length === 0]))
        expect(found.size).toBe(steps.length)
        expect(found).toEqual(new Map([...found].map(([key]) => [key, model.pairs.get(key)])))
        expect([...found.keys()].sort()).toEqual([...model.pairs.keys()].sort())
        expect(more.tokens).toBe(model.more)
        // Told in the order of a, and what only b has in the order of b.
        const inOrder = (order: readonly number[]) =>
          expect(order).toEqual([...order].sort((one, other) => one - other))
        inOrder(steps.flatMap(({ a }) => a?.began ?? []))
        inOrder(steps.flatMap(({ a, b }) => (a ? [] : (b?.began ?? []))))
      }),
    )
  })

  test('a step that the cut goes through belongs to both sides; what ended before it to none', () => {
    const work: Line = { node: 'a', tries: 1, end: 'completed', value: 1, tokens: 3, model: 'm', verdict: undefined }
    const log = told([{ ...work, node: 'b' }, work])
    const begun = log.findIndex(({ nodeId, type }) => nodeId === 'a' && type === 'provider.usage')
    expect(stepped([{ ...work, node: 'b' }, work], begun)).toMatchObject({
      steps: [{ nodeId: 'a', status: 'completed', spent: { tokens: 3 }, models: ['p:m'] }],
      spent: { tokens: 3 },
    })
    expect(stepped([{ ...work, node: 'b' }, work], begun + 1)).toMatchObject({
      steps: [{ nodeId: 'a', status: 'completed', spent: { tokens: 0 } }],
      spent: { tokens: 0 },
    })
  })

  test('no more steps are kept than asked for, and it is said', () => {
    const many = Array.from(
      { length: 9 },
      (): Line => ({ node: 'a', tries: 1, end: 'completed', value: 1, tokens: 1, model: 'm', verdict: 'pass' }),
    )
    const { steps, truncated, spent } = stepped(many, 0, 4)
    expect([steps.length, truncated, spent.tokens]).toEqual([4, true, 9])
    expect(compareSteps(stepped(many, 0, 4), stepped(many, 0)).truncated).toBe(true)
  })

  test('the label of a place is the latest word of its gate', () => {
    const work: Line = { node: 'a', tries: 1, end: 'completed', value: 1, tokens: 1, model: 'm', verdict: 'fail' }
    expect(labelsOf(stepped([work], 0))).toEqual(['unverified'])
    expect(labelsOf(stepped([{ ...work, verdict: undefined }], 0))).toEqual([])
  })

  test('what two forks share is what they have of the same run', () => {
    const source = [{ runId: 's', upTo: 30 }]
    const fork = [
      { runId: 'f', upTo: 40 },
      { runId: 's', upTo: 12 },
    ]
    const second = [
      { runId: 'g', upTo: 50 },
      { runId: 'f', upTo: 9 },
      { runId: 's', upTo: 9 },
    ]
    expect(sharedLength(source, fork)).toBe(12)
    expect(sharedLength(fork, second)).toBe(9)
    expect(sharedLength(source, source)).toBe(30)
    expect(sharedLength(source, [{ runId: 'x', upTo: 5 }])).toBe(0)
  })
})
