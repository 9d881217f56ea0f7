import { describe, expect, it } from 'vitest'
import { given, type Scenario } from '../../testing/given-when-then.js'
import { begins, ends, next, payloads, refuses, scripted, terminate, trace } from '../../testing/orchestration.js'
import type { JsonObject } from '../json.js'
import { statusOf } from '../run/state.js'

const began = (run: Scenario) => payloads(run, 'dispatch.began').map(({ workerId }) => workerId)

describe('one after the other', () => {
  const chained = { inputMapping: { y: 'got' }, outputMapping: { got: 'x' } }

  it('R-ORCH-15 R-MAP-6: each begins when the one before is done, and sees what it left', () => {
    const run = given(scripted([next('a', 'b', 'c')], { dispatch: chained })).start({ got: 0 })
    for (let worker = 0; worker < 3; worker += 1) {
      expect(began(run)).toEqual(['a', 'b', 'c'].slice(0, worker + 1))
      expect(run.owed).toMatchObject([{ kind: 'start-child', worker, inputs: { y: worker * 10 } }])
      begins(run, `child-${worker}`, { worker })
      expect(run.owed).toMatchObject([{ kind: 'watch-child', worker, childRunId: `child-${worker}` }])
      ends(run, `child-${worker}`, { x: (worker + 1) * 10 })
    }
    expect(payloads(run, 'node.completed')[1]).toMatchObject({
      outputs: {
        childRunId: 'child-2',
        childStatus: 'completed',
        workers: [{ workerId: 'a' }, { workerId: 'b' }, { workerId: 'c' }],
      },
    })
  })

  it('R-ORCH-15 R-ORCH-19: goes on past workers that fail; the last one is the node’s output', () => {
    const run = given(scripted([next('a', 'b', 'c')], { dispatch: chained })).start({ got: 0 })
    refuses(run, 'unknown_child_workflow')
    begins(run, 'child-1', { worker: 1 })
    ends(run, 'child-1', { x: 5 }, { status: 'failed', error: { code: 'e', message: 'm' } })
    expect(run.owed).toMatchObject([{ kind: 'start-child', worker: 2, inputs: { y: 0 } }])
    refuses(run, 'child_refused', { worker: 2 })
    expect(payloads(run, 'node.completed')[1]).toEqual({
      nodeId: 'dispatch',
      outputs: {
        childStatus: 'failed',
        workers: [
          { workerId: 'a', status: 'failed', error: 'unknown_child_workflow' },
          { workerId: 'b', status: 'failed', childRunId: 'child-1', error: 'e' },
          { workerId: 'c', status: 'failed', error: 'child_refused' },
        ],
      },
    })
  })

  it('R-HANDOFF-1: a worker that is named twice works twice', () => {
    const run = given(scripted([next('a', 'a')], { dispatch: chained })).start({ got: 0 })
    begins(run, 'child-0')
    ends(run, 'child-0', { x: 1 })
    begins(run, 'child-1', { worker: 1 })
    ends(run, 'child-1', { x: 2 })
    expect(payloads(run, 'output.harvested').map(({ childRunId }) => childRunId)).toEqual(['child-0', 'child-1'])
    expect(run.state).toMatchObject({ variables: { got: 2 } })
  })
})

describe('all at once', () => {
  const PARALLEL = { fanOutPolicy: 'parallel', outputMapping: { got: 'x' } }
  const all = (dispatch: JsonObject = PARALLEL, workers = ['a', 'b', 'c']) =>
    given(scripted([next(...workers), terminate], { dispatch, variables: [{ name: 'got', type: 'number' }] })).start()

  it('R-LOOP-7 R-LOOP-10: all begin first; children are made one by one, in the order of the decision', () => {
    const run = all()
    expect(trace(run, 4)).toEqual([
      'node.started dispatch [3]',
      'dispatch.began a [2]',
      'dispatch.began b [2]',
      'dispatch.began c [2]',
    ])
    for (let worker = 0; worker < 3; worker += 1) {
      expect(run.owed.filter(({ kind }) => kind === 'start-child')).toMatchObject([{ worker }])
      begins(run, `child-${worker}`, { worker })
    }
    expect(trace(run, 8)).toEqual([
      'node.dispatched dispatch [2]',
      'dispatch.succeeded a [5]',
      'node.dispatched dispatch [2]',
      'dispatch.succeeded b [6]',
      'node.dispatched dispatch [2]',
      'dispatch.succeeded c [7]',
    ])
    expect(run.owed.map(({ kind }) => kind)).toEqual(['watch-child', 'watch-child', 'watch-child'])
  })

  /** Whoever looks after the workers tells of those that have ended, whenever it may. */
  function watch(run: Scenario, ended: ReadonlyMap<string, (childRunId: string) => void>): void {
    for (let heard = true; heard; ) {
      const due = run.owed.find(owed => owed.kind === 'watch-child' && !owed.early && ended.has(owed.childRunId))
      heard = due?.kind === 'watch-child'
      if (due?.kind === 'watch-child') ended.get(due.childRunId)?.(due.childRunId)
    }
  }

  it('R-LOOP-10: whoever ends first, they are told of and merged in the order of the decision', () => {
    const run = all()
    for (let worker = 0; worker < 3; worker += 1) begins(run, `child-${worker}`, { worker })
    ends(run, 'child-2', { x: 2 })
    ends(run, 'child-1', { x: 1 })
    expect(trace(run, 14)).toEqual([])
    expect(run.owed).toMatchObject([{ worker: 0 }, { worker: 1, early: true }, { worker: 2, early: true }])
    expect(run.owed[0]).not.toHaveProperty('early')
    ends(run, 'child-0', { x: 0 })
    ends(run, 'child-1', { x: 1 })
    ends(run, 'child-2', { x: 2 })
    expect(trace(run, 14).slice(0, 10)).toEqual([
      'child.completed a [9]',
      'variable.changed dispatch [2]',
      'output.harvested a [14]',
      'child.completed b [11]',
      'variable.changed dispatch [2]',
      'output.harvested b [17]',
      'child.completed c [13]',
      'variable.changed dispatch [2]',
      'output.harvested c [20]',
      'node.completed dispatch [2]',
    ])
    expect(payloads(run, 'variable.changed').map(({ next: value }) => value)).toEqual([0, 1, 2])
  })

  it('R-LOOP-10: whatever the order of the ends, the log is the same, event by event', () => {
    const outcome = (order: readonly number[]) => {
      const run = all()
      const ended = new Map<string, (childRunId: string) => void>()
      // One ends as soon as it is started, while those after it are not.
      const [early, ...later] = order.toReversed()
      for (let worker = 0; worker < 3; worker += 1) {
        begins(run, `child-${worker}`, { worker })
        if (worker === early) end(worker)
      }
      for (const worker of later) end(worker)
      function end(worker: number): void {
        const more = worker === 1 ? { status: 'failed' as const } : {}
        ended.set(`child-${worker}`, childRunId => void ends(run, childRunId, { x: worker }, more))
        watch(run, ended)
      }
      const told = run.log.map(({ type, nodeId, payload, cause }) => [type, nodeId, payload, cause])
      return { told, variables: run.state.phase === 'ended' && run.state.variables, status: statusOf(run.state) }
    }
    const first = outcome([0, 1, 2])
    expect(first).toMatchObject({ variables: { got: 2 }, status: 'completed' })
    for (const order of [
      [0, 2, 1],
      [1, 0, 2],
      [1, 2, 0],
      [2, 0, 1],
      [2, 1, 0],
    ])
      expect(outcome(order)).toEqual(first)
  })

  it('R-ORCH-15: does not see what the others leave, and one that has ended is told of when all are started', () => {
    const run = given(scripted([next('a', 'b')], { dispatch: { ...PARALLEL, inputMapping: { y: 'got' } } })).start({
      got: 9,
    })
    begins(run, 'child-0')
    ends(run, 'child-0', { x: 1 })
    expect(run.owed).toMatchObject([
      { kind: 'watch-child', worker: 0, early: true },
      { kind: 'start-child', worker: 1, inputs: { y: 9 } },
    ])
    begins(run, 'child-1', { worker: 1 })
    expect(payloads(ends(run, 'child-0', { x: 1 }), 'child.completed')).toHaveLength(1)
  })

  it('R-LOOP-10: a run that began under older rules goes on as it began', () => {
    const run = given(scripted([next('a', 'b')], { dispatch: PARALLEL }))
    const started = {
      workflowId: 'sketch',
      workflowDigest: 'digest',
      inputs: {},
      transport: 'rest' as const,
      engineVersion: '2',
      owner: { tenant: 't1' },
    }
    run.when({ type: 'StartRun', runId: 'run-1', started })
    begins(run, 'child-0')
    begins(run, 'child-1', { worker: 1 })
    expect(payloads(ends(run, 'child-1', { x: 1 }), 'child.completed')).toMatchObject([{ workerId: 'b' }])
  })

  it('R-ORCH-19: workers that cannot be made or fail keep nobody from being merged', () => {
    const run = all()
    refuses(run, 'unknown_child_workflow')
    begins(run, 'child-1', { worker: 1 })
    begins(run, 'child-2', { worker: 2 })
    ends(run, 'child-2', { x: 2 })
    expect(payloads(run, 'output.harvested')).toEqual([])
    ends(run, 'child-1', {}, { status: 'cancelled' })
    ends(run, 'child-2', { x: 2 })
    expect(payloads(run, 'output.harvested')).toMatchObject([{ workerId: 'c' }])
    expect(payloads(run, 'node.completed')[1]).toMatchObject({
      outputs: {
        childRunId: 'child-2',
        childStatus: 'completed',
        workers: [
          { workerId: 'a', status: 'failed', error: 'unknown_child_workflow' },
          { workerId: 'b', status: 'cancelled', childRunId: 'child-1', error: 'child_cancelled' },
          { workerId: 'c', status: 'completed', childRunId: 'child-2' },
        ],
      },
    })
  })

  it('R-HANDOFF-3: a worker that is named twice has two chains of its own', () => {
    const run = all(PARALLEL, ['a', 'a'])
    begins(run, 'child-0')
    begins(run, 'child-1', { worker: 1 })
    ends(run, 'child-1', { x: 1 })
    ends(run, 'child-0', { x: 0 })
    ends(run, 'child-1', { x: 1 })
    expect(trace(run, 7).slice(0, 10)).toEqual([
      'node.dispatched dispatch [2]',
      'dispatch.succeeded a [5]',
      'node.dispatched dispatch [2]',
      'dispatch.succeeded a [6]',
      'child.completed a [8]',
      'variable.changed dispatch [2]',
      'output.harvested a [11]',
      'child.completed a [10]',
      'variable.changed dispatch [2]',
      'output.harvested a [14]',
    ])
  })
})

describe('workers that wait for someone', () => {
  const waits = (run: Scenario, childRunId: string, status: 'waiting-approval' | 'waiting-input' | 'running') =>
    run.when({ type: 'ChildWaits', nodeId: 'dispatch', childRunId, status })
  const two = () => {
    const run = given(
      scripted([next('a', 'b')], { dispatch: { fanOutPolicy: 'parallel' }, settings: { timeout: 1_000 } }),
    ).start()
    begins(run, 'child-0')
    return begins(run, 'child-1', { worker: 1 })
  }

  it('R-HANDOFF-1: are mirrored one by one; the run waits while one of them does', () => {
    const run = two()
    waits(run, 'child-1', 'waiting-input')
    expect(statusOf(run.state)).toBe('waiting-input')
    expect(run.owed).toMatchObject([{ status: 'running' }, { status: 'waiting-input' }])
    waits(run, 'child-0', 'waiting-approval')
    expect(statusOf(run.state)).toBe('waiting-approval')
    waits(run, 'child-0', 'running')
    expect(statusOf(run.state)).toBe('waiting-input')
    // It has ended and is not told of yet: it waits for nobody.
    waits(run, 'child-1', 'running')
    expect(statusOf(run.state)).toBe('running')
    ends(run, 'child-0')
    ends(run, 'child-1')
    expect(trace(run, 11).slice(0, 6)).toEqual([
      'assay.child.status dispatch [10]',
      'assay.child.status dispatch [8]',
      'assay.child.status dispatch [8]',
      'assay.child.status dispatch [10]',
      'child.completed a [8]',
      'child.completed b [10]',
    ])
  })

  it('R-HANDOFF-7: what is known already, or of nobody at work, is not told', () => {
    const run = waits(two(), 'child-1', 'waiting-input')
    const { length } = run.log
    waits(run, 'child-1', 'waiting-input')
    waits(run, 'child-0', 'running')
    waits(run, 'child-9', 'waiting-input')
    ends(run, 'child-1')
    waits(run, 'child-1', 'waiting-approval')
    expect(run.log).toHaveLength(length + 1)
  })

  it('A6: the workflow’s own time stands still only while all of them wait', () => {
    const working = waits(two(), 'child-1', 'waiting-input')
    working.after(1_001)
    expect(working.told()).toContain('assay.stop.requested')
    const resting = waits(waits(two(), 'child-1', 'waiting-input'), 'child-0', 'waiting-input')
    resting.after(50_000)
    expect(resting.told().at(-1)).toBe('assay.child.status dispatch')
  })
})

describe('stopping with workers at work', () => {
  const parallel = (dispatch: JsonObject = {}) => {
    const run = given(
      scripted([next('a', 'b', 'c')], {
        dispatch: { fanOutPolicy: 'parallel', outputMapping: { got: 'x' }, ...dispatch },
      }),
    ).start()
    begins(run, 'child-0')
    return begins(run, 'child-1', { worker: 1 })
  }

  it('R-HANDOFF-7: each is told how it really ended, nothing is merged, and the last one ends the run', () => {
    const run = parallel().when({ type: 'CancelRun', by: 'ann', reason: 'enough' })
    expect(run.owed.map(effect => [effect.kind, 'worker' in effect && effect.worker])).toEqual([
      ['cancel-child', 0],
      ['watch-child', 0],
      ['cancel-child', 1],
      ['watch-child', 1],
    ])
    ends(run, 'child-1', { x: 1 })
    ends(run, 'child-0', {}, { status: 'failed', error: { code: 'e', message: 'm' } })
    ends(run, 'child-1', { x: 1 })
    expect(trace(run, 12)).toEqual([
      'assay.stop.requested',
      'child.failed a [9]',
      'child.completed b [11]',
      'node.cancelled dispatch',
      'run.cancelled',
    ])
    expect(run.state).toMatchObject({ outcome: { status: 'cancelled', reason: 'enough' }, variables: {} })
  })

  it('R-HANDOFF-1: a worker that was not made yet is not made any more', () => {
    const run = parallel().when({ type: 'CancelRun', by: 'ann' })
    expect(run.owed.some(({ kind }) => kind === 'start-child')).toBe(false)
    const { length } = run.log
    begins(run, 'child-2', { worker: 2 })
    expect(run.log).toHaveLength(length)
  })

  it('R-MAP-9: without propagateCancellation the run does not wait for them', () => {
    const run = parallel({ propagateCancellation: false }).when({ type: 'CancelRun', by: 'ann' })
    expect(run.told(12)).toEqual(['node.cancelled dispatch', 'run.cancelled'])
  })

  it('R-ORCH-19: the run’s own failure stops them as well', () => {
    const run = given(
      scripted([next('a')], {
        nodes: { wait: { type: 'core.delay', config: { ms: 10 } }, fail: 'core.fail' },
        edges: ['sup > dispatch', 'wait > fail'],
      }),
    ).start()
    begins(run, 'child-0')
    run.after(10)
    expect(run.told().slice(-2)).toEqual(['node.failed fail', 'assay.stop.requested'])
    ends(run, 'child-0', {}, { status: 'cancelled' })
    expect(run.told().slice(-3)).toEqual(['core.workflowChain.event dispatch', 'node.cancelled dispatch', 'run.failed'])
    expect(statusOf(run.state)).toBe('failed')
  })
})
