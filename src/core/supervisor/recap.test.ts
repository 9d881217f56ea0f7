import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { given } from '../../testing/given-when-then.js'
import { begins, ends, next, scripted, terminate } from '../../testing/orchestration.js'
import { type Json, utf8Length } from '../json.js'
import { type RecapEvent, recapOf } from './recap.js'
import { RECAP_BYTES, recapText, shortened } from './recap-text.js'

const SEED = 20_261_118

const decided = (iteration: number, ...nextWorkerIds: string[]): RecapEvent => ({
  type: 'runOrchestrator.decided',
  nodeId: 'sup',
  payload: { iteration, decision: { kind: 'next-worker', nextWorkerIds } },
})
const chain = (
  phase: string,
  workerId: string,
  childRunId: string,
  more: { [name: string]: Json } = {},
): RecapEvent => ({
  type: 'core.workflowChain.event',
  nodeId: 'disp',
  payload: { phase, workerId, childRunId, ...more },
})
const changed = (name: string, value: Json): RecapEvent => ({
  type: 'variable.changed',
  nodeId: 'disp',
  payload: { name, next: value, nodeId: 'disp' },
})

const linesOf = (events: readonly RecapEvent[], turn: number) =>
  recapText(recapOf(events, turn))
    .split('\n')
    .map(line => JSON.parse(line))

describe('R-STATE-5: what a supervisor is told of the turns before', () => {
  it('is the decision, what became of each worker, and what it brought', () => {
    const events = [
      decided(1, 'writer', 'checker'),
      chain('child.completed', 'writer', 'c1'),
      changed('draft', 'Dear Ann'),
      chain('output.harvested', 'writer', 'c1', { harvestedKeys: ['draft'] }),
      chain('child.failed', 'checker', 'c2', { error: { code: 'effect_failed', message: 'words of a worker' } }),
    ]
    expect(linesOf(events, 2)).toEqual([
      {
        turn: 1,
        decided: { kind: 'next-worker', nextWorkerIds: ['writer', 'checker'] },
        workers: [
          { worker: 'writer', status: 'completed', brought: { draft: 'Dear Ann' } },
          { worker: 'checker', status: 'failed', error: 'effect_failed' },
        ],
      },
    ])
  })

  it('tells verdicts, work that was done again and what was withheld, and nothing of a result that was', () => {
    const gate = (type: string, more: { [name: string]: Json }): RecapEvent => ({
      type,
      nodeId: 'disp',
      payload: { gateId: 'g', attempt: 1, ...more },
    })
    const judged = (run: string) => [
      gate('dws.verification.started', { workerId: 'w', targetRef: run }),
      gate('dws.verification.finding_issued', { classification: 'blocking', dimension: 'tone' }),
      gate('dws.verification.verdict_rendered', { dwsVerdict: 'fail' }),
    ]
    const events = [
      decided(1, 'w'),
      chain('child.completed', 'w', 'c1'),
      ...judged('c1'),
      { type: 'assay.rework.began', nodeId: 'disp', payload: { workerId: 'w', point: 'harvest' } },
      chain('child.completed', 'w', 'c2'),
      ...judged('c2'),
      { type: 'assay.result.withheld', nodeId: 'disp', payload: { targetRef: 'c2' } },
    ]
    expect(linesOf(events, 2)[0].workers).toEqual([
      {
        worker: 'w',
        status: 'completed',
        attempts: 2,
        verdicts: [{ gate: 'g', verdict: 'fail', failed: ['tone'] }],
        withheld: true,
      },
    ])
  })

  it('tells what people were asked and answered, and who', () => {
    const events: RecapEvent[] = [
      decided(1),
      { type: 'interrupt.requested', payload: { interruptId: 'i', kind: 'clarification', data: { prompt: 'Which?' } } },
      { type: 'interrupt.resolved', payload: { interruptId: 'i', resumeValue: 'The red one', resolvedBy: 'ann' } },
    ]
    expect(linesOf(events, 2)[0].people).toEqual([{ asked: { prompt: 'Which?' }, answered: 'The red one', by: 'ann' }])
  })

  it('says how many turns are out of view', () => {
    expect(linesOf([decided(7, 'w'), chain('child.completed', 'w', 'c')], 8)).toEqual([
      { earlierTurns: 6 },
      expect.objectContaining({ turn: 7 }),
    ])
  })

  it('is nothing before anything has happened', () => {
    expect(recapText(recapOf([{ type: 'run.started', payload: {} }], 1))).toBe('')
  })

  it('is made of the log of a real loop', () => {
    const run = ends(begins(given(scripted([next('a'), next('b'), terminate])).start(), 'child-0'), 'child-0')
    const told = linesOf(
      run.log.map(({ type, nodeId, payload }) => ({
        type,
        ...(nodeId === undefined ? {} : { nodeId }),
        payload: payload as Json,
      })),
      2,
    )
    expect(told[0]).toMatchObject({ turn: 1, workers: [{ worker: 'a', status: 'completed' }] })
  })
})

describe('R-STATE-7: how much it is', () => {
  const name = fc.string({ maxLength: 60 })
  const event: fc.Arbitrary<RecapEvent> = fc.oneof(
    fc.tuple(fc.nat(50), fc.array(name, { maxLength: 30 })).map(([turn, workers]) => decided(turn, ...workers)),
    fc
      .tuple(fc.constantFrom('child.completed', 'child.failed', 'child.cancelled', 'dispatch.failed'), name, name)
      .map(([phase, worker, run]) => chain(phase, worker, run, { error: { code: worker } })),
    fc.tuple(name, fc.jsonValue()).map(([field, value]) => changed(field, value as Json)),
    fc.tuple(name, fc.array(name)).map(([run, keys]) => chain('output.harvested', 'w', run, { harvestedKeys: keys })),
    fc.tuple(name, fc.jsonValue()).map(([id, data]) => ({
      type: 'interrupt.requested',
      payload: { interruptId: id, kind: 'approval', data: data as Json },
    })),
    fc.tuple(name, fc.string({ maxLength: 9_000 })).map(([id, value]) => ({
      type: 'interrupt.resolved',
      payload: { interruptId: id, resumeValue: value, resolvedBy: id },
    })),
    fc.tuple(name, fc.string({ maxLength: 9_000 })).map(([node, value]) => ({
      type: 'node.completed',
      nodeId: node,
      payload: { nodeId: node, outputs: { value } },
    })),
    fc.jsonValue().map(payload => ({ type: 'made.up', payload: payload as Json })),
  )

  it('has a bound whatever happened, is the same for the same events, and never leaves out the latest turn', () => {
    let told = 0
    fc.assert(
      fc.property(fc.array(event, { maxLength: 120 }), fc.integer({ min: 1, max: 60 }), (events, turn) => {
        const text = recapText(recapOf(events, turn))
        expect(utf8Length(text)).toBeLessThanOrEqual(RECAP_BYTES)
        expect(recapText(recapOf(structuredClone(events) as RecapEvent[], turn))).toBe(text)
        const last = recapOf(events, turn).turns.at(-1)
        if (last === undefined) return
        told += 1
        expect(JSON.parse(text.split('\n').at(-1) ?? '')).toMatchObject({ turn: last.turn })
      }),
      { seed: SEED, numRuns: 400 },
    )
    expect(told).toBeGreaterThan(200)
  })

  it('does not grow with the number of turns', () => {
    const turnsOf = (count: number) =>
      Array.from({ length: count }, (_, i) => [
        decided(i + 1, 'writer'),
        chain('child.completed', 'writer', `c${i}`),
        changed('draft', 'words '.repeat(400)),
        chain('output.harvested', 'writer', `c${i}`, { harvestedKeys: ['draft'] }),
      ]).flat()
    const bytes = [3, 30, 300].map(count => utf8Length(recapText(recapOf(turnsOf(count), count + 1))))
    for (const size of bytes) expect(size).toBeLessThanOrEqual(RECAP_BYTES)
    expect(linesOf(turnsOf(300), 301)[0].earlierTurns).toBeGreaterThan(250)
  })

  it('of a value is its beginning, with how much is left out, and no half of a character', () => {
    expect(shortened('abcdef', 3)).toBe('abc… (3 more characters)')
    expect(shortened('ab😀cd', 3)).toBe('ab… (4 more characters)')
    expect(shortened('abc', 3)).toBe('abc')
  })
})
