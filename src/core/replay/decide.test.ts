import { describe, expect, it } from 'vitest'
import { given, type Scenario } from '../../testing/given-when-then.js'
import { isTerminal, type Recorded } from '../run/events.js'
import { type RunState, statusOf } from '../run/state.js'
import { Replay } from './decide.js'
import type { Fork } from './events.js'
import { branchOff, CutFinder, cutOf, inherited, retold } from './fork.js'

const answer = (nodeId: string, value: object, by = 'ann') =>
  ({ type: 'ResolveInterrupt', nodeId, value, by, via: 'key', shownHash: 'h' }) as never

const delayed = (ms: number) => ({ type: 'core.delay', config: { ms } })

/** Runs of every shape, told to their end. */
const STORIES: { readonly [name: string]: () => Scenario } = {
  straight: () => given({ nodes: { a: 'core.noop', b: 'core.noop' }, edges: ['a > b'] }).start(),
  'with timers side by side': () =>
    given({
      nodes: { fork: 'core.parallel', x: delayed(30), y: delayed(10), join: 'core.merge' },
      edges: ['fork > x', 'fork > y', 'x > join', 'y > join'],
    })
      .start()
      .after(10)
      .after(20),
  retrying: () =>
    given({
      nodes: { f: { type: 'core.fail', config: { failures: 2 }, settings: { maxRetries: 3, retryDelayMs: 10 } } },
    })
      .start()
      .after(10)
      .after(20)
      .after(40),
  'with variables, channels and a loop': () =>
    given({
      nodes: {
        loop: { type: 'core.loop', config: { maxIterations: 3 } },
        s: {
          type: 'core.setVariable',
          config: { name: 'n' },
          inputs: { value: { type: 'expression', expression: 'variables.n + 1' } },
        },
        w: { type: 'core.channelWrite', config: { channelName: 'log', value: 'x' } },
        d: delayed(5),
        end: 'core.noop',
      },
      edges: ['loop.body > s', 's > w', 'w > d', 'd > loop', 'loop.done > end'],
      variables: [{ name: 'n', type: 'number', defaultValue: 0 }],
    })
      .start()
      .after(5)
      .after(5)
      .after(5),
  'approved by two': () =>
    given({
      nodes: { gate: { type: 'core.approvalGate', config: { requiredApprovals: 2 } }, b: 'core.noop' },
      edges: ['gate > b'],
    })
      .start()
      .when(answer('gate', { action: 'accept' }))
      .when(answer('gate', { action: 'accept' }, 'bob')),
  'timed out': () =>
    given({ nodes: { gate: { type: 'core.approvalGate', config: { timeoutMs: 50 } } } })
      .start()
      .after(50),
  'with a secret': () =>
    given({
      nodes: {
        s: {
          type: 'core.setVariable',
          config: { name: 'copy' },
          inputs: { value: { type: 'variable', variableName: 'key' } },
        },
      },
      variables: [{ name: 'key', type: 'string', sensitive: true }],
    }).start({ key: 'hunter2-hunter2' }),
  paused: () => {
    const run = given({ nodes: { d: delayed(100), e: 'core.noop' }, edges: ['d > e'] }).start()
    run.now += 20
    run.when({ type: 'PauseRun', drainPolicy: 'immediate' })
    run.now += 500
    return run.when({ type: 'ResumeRun' }).after(100)
  },
  'with an effect that failed once': () => {
    const run = given(
      { nodes: { s: { type: 'core.conformance.side-effect', settings: { maxRetries: 1, retryDelayMs: 5 } } } },
      ['assay.conformance'],
    ).start()
    const told = (ok: boolean) =>
      run.when({
        type: 'EffectAnswered',
        nodeId: 's',
        since: run.sequence('node.started', 's'),
        answer: ok
          ? { ok, output: { n: 1 } }
          : { ok, error: { code: 'effect_failed', message: 'no', retryable: true } },
      } as never)
    told(false)
    run.after(5)
    return told(true)
  },
  'with a child that waited': () => {
    const run = given({
      nodes: {
        sub: { type: 'core.subWorkflow', config: { workflowId: 'c', outputMapping: { got: 'x' } } },
        z: 'core.noop',
      },
      edges: ['sub > z'],
      variables: [{ name: 'got', type: 'number' }],
    }).start()
    const child = { nodeId: 'sub', childRunId: 'child-1' }
    run.when({ type: 'ChildStarted', ...child, since: run.sequence('node.started', 'sub'), worker: 0 })
    run.when({ type: 'ChildWaits', ...child, status: 'waiting-approval' })
    run.when({ type: 'ChildWaits', ...child, status: 'running' })
    return run.when({ type: 'ChildEnded', ...child, status: 'completed', variables: { x: 4 }, hidden: [] })
  },
  'that made an artifact': () =>
    given({
      nodes: { a: { type: 'core.identity', artifactType: 'note', inputs: { payload: { type: 'static', value: 1 } } } },
    }).start(),
  'over its bound': () =>
    given({ nodes: { a: 'core.noop', b: 'core.noop', c: 'core.noop' }, edges: ['a > b', 'b > c'] }).start(
      {},
      { recursionLimit: 2 },
    ),
  'out of time': () =>
    given({ nodes: { d: delayed(500) } })
      .start({}, { runTimeoutMs: 100 })
      .after(101),
}

function withoutInput<Event extends { readonly input?: unknown }>(event: Event): Event {
  const copy = { ...event }
  delete (copy as { input?: unknown }).input
  return copy
}

const forkOf = (log: readonly Recorded[], fromSeq: number, mode: Fork['mode']): Fork => ({
  sourceRunId: 'run-1',
  fromSeq,
  mode,
  sourceLength: log.length,
})

/** The same, from the state the source had at `known`, a moment between two decisions. */
function replayedFrom(run: Scenario, known: number, fromSeq: number): Recorded[] {
  const fork = forkOf(run.log, fromSeq, 'replay')
  const state = retold(run.rules, { phase: 'absent' }, 'run-1', run.log.slice(0, known))
  const base = inherited(JSON.parse(JSON.stringify(state)) as RunState, 'run-2', fork)
  const replay = new Replay(run.rules, base, fork, 'run-2', run.log.slice(known))
  const own: Recorded[] = []
  for (let told = replay.next(); told !== undefined; told = replay.next()) own.push(...told)
  return [...run.log.slice(0, fromSeq), ...own]
}

/** The same, with so many events of the source read whenever the replay is short of them, and how many it kept at most. */
function replayedInBits(run: Scenario, fromSeq: number, size: number): { log: Recorded[]; kept: number } {
  const fork = forkOf(run.log, fromSeq, 'replay')
  const replay = new Replay(run.rules, { phase: 'absent', fork }, fork, 'run-2')
  const own: Recorded[] = []
  let [read, kept, isTold] = [0, 0, false]
  while (!isTold)
    if (replay.isShort) {
      replay.read(run.log.slice(read, read + size))
      expect(read).toBeLessThan(run.log.length)
      read += size
    } else {
      const told = replay.next()
      kept = Math.max(kept, replay.kept)
      isTold = told === undefined
      own.push(...(told ?? []))
    }
  return { log: [...run.log.slice(0, fromSeq), ...own], kept }
}

function replayed(run: Scenario, fromSeq: number): Recorded[] {
  const fork = forkOf(run.log, fromSeq, 'replay')
  const replay = new Replay(run.rules, { phase: 'absent', fork }, fork, 'run-2', run.log)
  const own: Recorded[] = []
  for (let told = replay.next(); told !== undefined; told = replay.next()) own.push(...told)
  return [...run.log.slice(0, fromSeq), ...own]
}

const said = (log: readonly Recorded[]) =>
  log.map(({ type, nodeId, payload, secret, cause, at, sequence, input }) =>
    JSON.parse(
      JSON.stringify({ sequence, type, nodeId, payload, secret, cause, at, input }, (key, value) =>
        key === 'runId' ? undefined : value,
      ),
    ),
  )

describe.each(Object.entries(STORIES))('a run %s', (_name, tell) => {
  it('R-REPLAY-5 R-REPLAY-7 R-REPLAY-11 R-FORK-2 R-FORK-4 is retold byte for byte from every sequence', () => {
    const run = tell()
    expect(run.state.phase).toBe('ended')
    for (let fromSeq = 0; fromSeq <= run.log.length; fromSeq += 1)
      expect(said(replayed(run, fromSeq)), `from ${fromSeq}`).toEqual(said(run.log))
  })

  it('is retold the same from any state that was kept of it', () => {
    const run = tell()
    const kept = run.log.filter(({ input }) => input !== undefined).map(({ sequence }) => sequence)
    for (const known of [...kept, run.log.length])
      for (let fromSeq = known; fromSeq <= run.log.length; fromSeq += 1)
        expect(said(replayedFrom(run, known, fromSeq)), `from ${fromSeq}, known ${known}`).toEqual(said(run.log))
  })

  it('I7: is retold the same however little of it is read at a time, also where its inputs or its rules are gone', () => {
    const run = tell()
    const stranger = { ...run, rules: run.rules, log: run.log.map(withoutInput) } as Scenario
    for (let fromSeq = 0; fromSeq <= run.log.length; fromSeq += 1)
      for (const size of [1, 2, 7]) {
        expect(said(replayedInBits(run, fromSeq, size).log), `from ${fromSeq}, by ${size}`).toEqual(said(run.log))
        const whole = replayed(stranger, fromSeq)
        expect(replayedInBits(stranger, fromSeq, size).log, `from ${fromSeq}, by ${size}`).toEqual(whole)
      }
  })

  it('the cut is found the same however little of the log is read at a time', () => {
    const run = tell()
    for (const log of [run.log, run.log.map(withoutInput)])
      for (let fromSeq = 1; fromSeq <= log.length; fromSeq += 1) {
        const finder = new CutFinder(run.rules, { phase: 'absent' }, 'run-3')
        for (const event of log.slice(0, fromSeq)) finder.read([event])
        expect(finder.cut).toEqual(cutOf(run.rules, { phase: 'absent' }, 'run-3', log.slice(0, fromSeq)))
        const whole = retold(run.rules, finder.cut.before, 'run-3', finder.cut.shared)
        expect(whole).toEqual(retold(run.rules, { phase: 'absent' }, 'run-3', log.slice(0, fromSeq)))
      }
  })

  it('can be branched off at every sequence, and the branch can be retold', () => {
    const run = tell()
    for (let fromSeq = 1; fromSeq <= run.log.length; fromSeq += 1) {
      const fork = forkOf(run.log, fromSeq, 'branch')
      const first = branchOff(
        run.rules,
        { phase: 'absent', fork },
        'run-3',
        run.log.slice(0, fromSeq),
        {},
        run.now + 10_000,
      )
      if (!first.ok) throw new Error(first.refusal.message)
      expect(first.events.filter(({ type }) => type === 'assay.run.forked')).toHaveLength(
        fromSeq === run.log.length ? 0 : 1,
      )
      const branch = { rules: run.rules, log: [...run.log.slice(0, fromSeq), ...first.events] }
      expect(branch.log.map(({ sequence }) => sequence)).toEqual(branch.log.map((_, i) => i))
      if (first.state.phase !== 'ended') continue
      for (let again = 0; again <= branch.log.length; again += 1)
        expect(said(replayed(branch as Scenario, again)), `branch ${fromSeq}, from ${again}`).toEqual(said(branch.log))
    }
  })
})

describe('a replay of a replay', () => {
  const cancelled = () => {
    const run = given({ nodes: { g: 'core.approvalGate', a: { type: 'core.noop' } } }).start()
    return run.when({ type: 'CancelRun', by: 'ann' })
  }

  it('is equal to it, also to what it reported, and names its own run', () => {
    const run = cancelled()
    const first = { rules: run.rules, log: replayed(run, 0) } as Scenario
    for (let fromSeq = 0; fromSeq <= first.log.length; fromSeq += 1)
      expect(said(replayed(first, fromSeq)), `from ${fromSeq}`).toEqual(said(first.log))
  })

  it('names its own run in what it asks, wherever it is cut', () => {
    const run = cancelled()
    for (let fromSeq = 0; fromSeq <= 3; fromSeq += 1) {
      const asked = replayed(run, fromSeq).find(
        ({ type, sequence }) => type === 'interrupt.requested' && sequence >= fromSeq,
      )
      if (asked) expect(asked).toMatchObject({ payload: { runId: 'run-2', interruptId: `int-${asked.sequence}` } })
    }
  })
})

describe('a log that is older than its inputs', () => {
  const older = (run: Scenario) => ({ rules: run.rules, log: run.log.map(event => withoutInput(event)) }) as Scenario

  it.each(Object.entries(STORIES))(
    '%s: can still be forked anywhere, and every fork goes on or ends',
    (_name, tell) => {
      const run = older(tell())
      for (let fromSeq = 1; fromSeq <= run.log.length; fromSeq += 1) {
        const fork = forkOf(run.log, fromSeq, 'branch')
        const first = branchOff(run.rules, { phase: 'absent', fork }, 'run-3', run.log.slice(0, fromSeq), {}, 900_000)
        if (!first.ok) throw new Error(first.refusal.message)
        expect(first.events[0]?.sequence ?? fromSeq).toBe(fromSeq)
        const log = replayed(run, fromSeq)
        expect(log.map(({ sequence }) => sequence)).toEqual(log.map((_, i) => i))
        expect(isTerminal(log.at(-1)!.type)).toBe(true)
      }
    },
  )
})

describe('I7: a long source', () => {
  it('is kept only as far as it has been read and not told', () => {
    const run = given({
      nodes: { loop: { type: 'core.loop', config: { maxIterations: 200 } }, d: delayed(5) },
      edges: ['loop.body > d', 'd > loop'],
    }).start()
    while (run.state.phase === 'active') run.after(5)
    expect(run.log.length).toBeGreaterThan(800)
    const { log, kept } = replayedInBits(run, 0, 20)
    expect(said(log)).toEqual(said(run.log))
    expect(kept).toBeLessThanOrEqual(40)
  })
})

describe('a long branch', () => {
  const nodes = Object.fromEntries(Array.from({ length: 500 }, (_, i) => [`n${i}`, 'core.noop']))
  const edges = Array.from({ length: 499 }, (_, i) => `n${i} > n${i + 1}`)

  it('can be branched and retold anywhere, as any run can', () => {
    const run = given({ nodes, edges }).start().when({ type: 'Continue' })
    const first = branchOff(
      run.rules,
      { phase: 'absent', fork: forkOf(run.log, 1, 'branch') },
      'run-1',
      run.log.slice(0, 1),
      {},
      5_000,
    )
    if (!first.ok) throw new Error(first.refusal.message)
    const branch = { rules: run.rules, log: [run.log[0]!, ...first.events] } as Scenario
    for (const fromSeq of [2, 3, 511, 512, 513, 514, 700, branch.log.length]) {
      const fork = forkOf(branch.log, fromSeq, 'branch')
      const again = branchOff(run.rules, { phase: 'absent', fork }, 'run-3', branch.log.slice(0, fromSeq), {}, 9_000)
      if (!again.ok) throw new Error(again.refusal.message)
      expect(again.events[0]?.sequence ?? fromSeq).toBe(fromSeq)
      expect(said(replayed(branch, fromSeq)).slice(0, branch.log.length), `from ${fromSeq}`).toEqual(said(branch.log))
    }
  })
})

describe('a branch of a paused run', () => {
  it('starts what the pause had stopped, and so does a replay of it, from everywhere', () => {
    const run = given({ nodes: { d: delayed(100), e: 'core.noop' }, edges: ['d > e'] }).start()
    run.when({ type: 'PauseRun', drainPolicy: 'immediate' })
    const cut = run.log.length
    const fork = forkOf(run.log, cut, 'branch')
    const first = branchOff(run.rules, { phase: 'absent', fork }, 'run-1', run.log, {}, 5_000)
    if (!first.ok) throw new Error(first.refusal.message)
    expect(first.events.map(({ type }) => type)).toEqual(['assay.run.forked', 'node.started'])
    const branch = { rules: run.rules, log: [...run.log, ...first.events] } as Scenario
    for (let fromSeq = 0; fromSeq <= branch.log.length; fromSeq += 1) {
      const log = replayed(branch, fromSeq)
      expect(said(log.slice(0, branch.log.length)), `from ${fromSeq}`).toEqual(said(branch.log))
      expect(log.at(-1)?.type, `from ${fromSeq}`).toBe('run.completed')
    }
  })
})

describe('a replay of what has no end', () => {
  it('does not go on for ever where its source waits in a loop', () => {
    const run = given({
      nodes: { loop: { type: 'core.loop', config: { maxIterations: 20_000 } }, d: delayed(1_000) },
      edges: ['loop.body > d', 'd > loop'],
    }).start()
    const log = replayed(run, 0)
    expect(log.length).toBeLessThan(6_000)
    expect(log.at(-1)).toMatchObject({ type: 'run.failed', payload: { error: { code: 'replay_source_missing' } } })
  })

  it('hears at the same moment that its time is over, whatever came then', () => {
    const run = given({ nodes: { s: 'core.conformance.side-effect' } }, ['assay.conformance']).start(
      {},
      { runTimeoutMs: 100 },
    )
    run.now += 150
    run.when({ type: 'EffectAnswered', nodeId: 's', since: 99, answer: { ok: true, output: 1 } } as never)
    expect(run.state.phase).toBe('ended')
    const without = (log: readonly Recorded[]) => said(log).map(withoutInput)
    expect(without(replayed(run, 0))).toEqual(without(run.log))
  })

  it('is told a pause that never ended, and goes on after it', () => {
    const run = given({ nodes: { d: delayed(100), e: 'core.noop' }, edges: ['d > e'] }).start()
    run.when({ type: 'PauseRun', drainPolicy: 'immediate' })
    const log = replayed(run, 0)
    expect(said(log.slice(0, run.log.length))).toEqual(said(run.log))
    expect(log.at(-1)?.type).toBe('run.completed')
  })

  it('R-REPLAY-12 fails where its source recorded no outcome', () => {
    const run = given({ nodes: { s: 'core.conformance.side-effect' } }, ['assay.conformance']).start()
    const log = replayed(run, 0)
    expect(log.map(({ type }) => type)).toEqual(['run.started', 'node.started', 'node.failed', 'run.failed'])
    expect(log[2]).toMatchObject({ payload: { error: { code: 'replay_source_missing' } } })
  })

  it('asks nobody: an interrupt that was not answered fails', () => {
    const run = given({ nodes: { gate: 'core.approvalGate' } }).start()
    expect(replayed(run, 0).at(-2)).toMatchObject({ payload: { error: { code: 'replay_source_missing' } } })
  })

  it('lets time go by without waiting for it', () => {
    const run = given({ nodes: { d: delayed(86_400_000), e: 'core.noop' }, edges: ['d > e'] }).start()
    const log = replayed(run, 0)
    expect(log.at(-1)).toMatchObject({ type: 'run.completed', at: run.log[0]!.at + 86_400_000 })
  })

  it('is not cancelled with its source, and says where it parts from it', () => {
    const run = given({ nodes: { s: 'core.conformance.side-effect' } }, ['assay.conformance']).start()
    run.when({ type: 'CancelRun', by: 'ann' })
    const log = replayed(run, 0)
    expect(log.map(({ type }) => type)).toEqual([
      'run.started',
      'node.started',
      'replay.diverged',
      'node.failed',
      'run.failed',
    ])
    expect(log[2]).toMatchObject({
      payload: { atSequence: 2, divergenceKind: 'type-mismatch', divergencePoint: 'node.cancelled' },
    })
  })
})

describe('a replay under other rules', () => {
  it('R-REPLAY-10 R-FORK-6 reports the first difference before it goes on, and ends all the same', () => {
    const run = given({
      nodes: { a: { type: 'core.identity', inputs: { payload: { type: 'static', value: 1 } } }, d: delayed(5) },
      edges: ['a > d'],
    })
      .start()
      .after(5)
    const other = given({
      nodes: { a: { type: 'core.identity', inputs: { payload: { type: 'static', value: 2 } } }, d: delayed(5) },
      edges: ['a > d'],
    })
    const log = replayed({ rules: other.rules, log: run.log } as Scenario, 0)
    expect(log.map(({ type }) => type)).toEqual([
      'run.started',
      'node.started',
      'replay.diverged',
      'node.completed',
      'node.started',
      'node.completed',
      'run.completed',
    ])
    expect(log[2]).toMatchObject({ payload: { atSequence: 2, divergenceKind: 'output', originalEventId: 'run-1:2' } })
  })
})

describe('a branch', () => {
  it('does what it is told to do otherwise, and its time begins where it was cut', () => {
    const run = given({ nodes: { d: delayed(1_000), e: 'core.noop' }, edges: ['d > e'] }).start(
      {},
      { runTimeoutMs: 5_000 },
    )
    const fork = forkOf(run.log, 2, 'branch')
    const first = branchOff(
      run.rules,
      { phase: 'absent', fork },
      'run-3',
      run.log,
      { configurable: { recursionLimit: 1 } },
      900_000,
    )
    if (!first.ok || first.state.phase !== 'active') throw new Error('must be under way')
    expect(first.state.started.configurable).toEqual({ runTimeoutMs: 5_000, recursionLimit: 1 })
    expect(first.state.startedAt).toBe(900_000)
    expect(first.state.nodes[0]).toMatchObject({ is: 'waiting', sinceAt: 900_000 })
    expect(statusOf(first.state)).toBe('running')
  })

  it('starts again the children that its source still waited for', () => {
    const run = STORIES['with a child that waited']!()
    const fork = forkOf(run.log, 4, 'branch')
    const first = branchOff(run.rules, { phase: 'absent', fork }, 'run-3', run.log.slice(0, 4), {}, 900_000)
    if (!first.ok || first.state.phase !== 'active') throw new Error('must be under way')
    expect(first.state.nodes[0]).toMatchObject({ is: 'waiting' })
    expect(first.state.nodes[0]).not.toHaveProperty('childRunId')
  })
})
