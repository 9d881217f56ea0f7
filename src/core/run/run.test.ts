import { describe, expect, it } from 'vitest'
import { given } from '../../testing/given-when-then.js'
import type { Recorded } from './events.js'
import { statusOf } from './state.js'

describe('scheduling', () => {
  it('core §5.4 R-LOG-5: a no-op run goes from start to end in one decision', () => {
    const run = given({ nodes: { a: 'core.noop' } }).start()
    expect(run.told()).toEqual(['run.started', 'node.started a', 'node.completed a', 'run.completed'])
    expect(run.state).toMatchObject({ phase: 'ended', outcome: { status: 'completed', outputs: {} } })
    expect(run.wakeAt).toBeNull()
  })

  it('nodes run in edge order and each start names what led to it', () => {
    const run = given({ nodes: { a: 'core.noop', b: 'core.noop', c: 'core.noop' }, edges: ['a > b', 'b > c'] }).start()
    expect(run.told()).toEqual([
      'run.started',
      'node.started a',
      'node.completed a',
      'node.started b',
      'node.completed b',
      'node.started c',
      'node.completed c',
      'run.completed',
    ])
    expect(run.log.map(event => event.cause)).toEqual([undefined, 0, 1, 2, 3, 4, 5, 6])
  })

  it('a conditional runs one branch and skips the other, and a merge joins what ran', () => {
    const nodes = {
      choose: { type: 'core.conditional', config: { expression: 'inputs.n > 3' } },
      big: 'core.noop',
      small: 'core.noop',
      join: 'core.merge',
    }
    const edges = ['choose.true > big', 'choose.false > small', 'big > join', 'small > join']
    const run = given({ nodes, edges }).start({ n: 5 })
    expect(run.told()).toContain('node.skipped small')
    expect(run.told()).toContain('node.completed join')
    expect(run.state).toMatchObject({ outcome: { outputs: { results: { big: {} } } } })
  })

  it('R-FLOW-3: all_success skips a node whose source was skipped, and the skip spreads', () => {
    const edges = [{ path: 'a > b', condition: { type: 'expression' as const, expression: 'false' } }, 'b > c']
    const run = given({ nodes: { a: 'core.noop', b: 'core.noop', c: 'core.noop' }, edges }).start()
    expect(run.told().slice(3)).toEqual(['node.skipped b', 'node.skipped c', 'run.completed'])
  })

  it.each([
    ['any_success', ['a', 'f'], 'node.completed t'],
    ['all_complete', ['a', 'f'], 'node.completed t'],
    ['any_failed', ['a', 'f'], 'node.completed t'],
  ] as const)('R-FLOW-3: %s lets a failure pass', (triggerRule, sources, expected) => {
    const run = given({
      nodes: { a: 'core.noop', f: 'core.fail', t: 'core.noop' },
      edges: sources.map(source => ({ path: `${source} > t`, triggerRule })),
    }).start()
    expect(run.told()).toContain(expected)
    expect(run.state).toMatchObject({ phase: 'ended', outcome: { status: 'completed' } })
  })

  it.each(['all_success', 'none_failed'] as const)(
    'R-FLOW-3 R-LOG-5: %s does not: the run fails with the node',
    triggerRule => {
      const run = given({ nodes: { f: 'core.fail', t: 'core.noop' }, edges: [{ path: 'f > t', triggerRule }] }).start()
      expect(run.told()).toEqual(['run.started', 'node.started f', 'node.failed f', 'run.failed'])
      expect(run.state).toMatchObject({
        outcome: { status: 'failed', failedNodeId: 'f', error: { code: 'conformance_test_failure' } },
      })
    },
  )

  it('a tolerated failure whose handler never ran fails the run after all', () => {
    const run = given({
      nodes: { f: 'core.fail', g: 'core.fail', t: 'core.noop' },
      edges: [
        { path: 'f > t', triggerRule: 'any_success' },
        { path: 'g > t', triggerRule: 'any_success' },
      ],
    }).start()
    expect(run.told().slice(-2)).toEqual(['node.skipped t', 'run.failed'])
  })

  it('a disabled node is skipped', () => {
    const run = given({ nodes: { a: { type: 'core.noop', disabled: true } } }).start()
    expect(run.told()).toEqual(['run.started', 'node.skipped a', 'run.completed'])
  })

  it('R-REST-4: a node type whose capability is missing never executes', () => {
    const run = given({ nodes: { a: 'conformance.requiresMissing' } }).start()
    expect(run.state).toMatchObject({ outcome: { status: 'failed', error: { code: 'capability_not_provided' } } })
    expect(JSON.stringify(run.log)).toContain('conformance.never-provided')
  })
})

describe('loops', () => {
  const counting = (config: object) =>
    given({
      nodes: {
        loop: { type: 'core.loop', config: config as never },
        step: {
          type: 'core.setVariable',
          config: { name: 'i' },
          inputs: { value: { type: 'expression', expression: 'variables.i + 1' } },
        },
        after: 'core.noop',
      },
      edges: ['loop.body > step', 'step > loop', 'loop.done > after'],
      variables: [{ name: 'i', type: 'number', defaultValue: 0 }],
    })

  it('a loop runs its body while its condition holds', () => {
    const run = counting({ condition: 'variables.i < 3', maxIterations: 10 }).start()
    expect(run.told().filter(text => text === 'node.completed step')).toHaveLength(3)
    expect(run.state).toMatchObject({ outcome: { status: 'completed' }, variables: { i: 3 } })
    expect(run.told().at(-2)).toBe('node.completed after')
  })

  it('a loop that would go one pass too far stops for a stated reason', () => {
    const run = counting({ condition: 'true', maxIterations: 4 }).start()
    expect(run.told().filter(text => text === 'node.completed step')).toHaveLength(4)
    expect(run.told()).toContain('workflow.loopback-limit loop')
    expect(run.state).toMatchObject({ outcome: { status: 'failed', error: { code: 'loop_limit_exceeded' } } })
  })

  it('a loop whose condition never holds skips its body', () => {
    const run = counting({ condition: 'false' }).start()
    expect(run.told()).toEqual([
      'run.started',
      'node.started loop',
      'node.completed loop',
      'node.skipped step',
      'node.started after',
      'node.completed after',
      'run.completed',
    ])
  })

  it('a nested loop begins anew on every pass of the outer one', () => {
    const run = given({
      nodes: {
        outer: { type: 'core.loop', config: { maxIterations: 2 } },
        inner: { type: 'core.loop', config: { maxIterations: 3 } },
        work: 'core.noop',
        turn: 'core.noop',
      },
      edges: ['outer.body > inner', 'inner.body > work', 'work > inner', 'inner.done > turn', 'turn > outer'],
    }).start()
    expect(run.told().filter(text => text === 'node.completed work')).toHaveLength(6)
    expect(run.state).toMatchObject({ outcome: { status: 'completed' } })
  })

  it('a long pure run is carried by several decisions, none of them large', () => {
    const run = counting({ condition: 'variables.i < 1000', maxIterations: 2000 }).start()
    let decisions = 1
    while (run.owed.some(effect => effect.kind === 'continue')) {
      const before = run.log.length
      run.when({ type: 'Continue' })
      expect(run.log.length - before).toBeLessThan(600)
      decisions += 1
    }
    expect(decisions).toBeGreaterThan(5)
    expect(run.state).toMatchObject({ outcome: { status: 'completed' }, variables: { i: 1000 } })
  })
})

describe('retries and timers', () => {
  it('R-FLOW-5: a failed attempt is retried after its backoff, and the delay grows', () => {
    const run = given({
      nodes: { f: { type: 'core.fail', config: { failures: 2 }, settings: { maxRetries: 3, retryDelayMs: 100 } } },
    }).start()
    expect(run.told()).toEqual(['run.started', 'node.started f', 'node.retried f'])
    expect(run.wakeAt).toBe(1_100)
    run.after(99)
    expect(run.log).toHaveLength(3)
    run.after(1)
    expect(run.log.at(-1)).toMatchObject({ type: 'node.retried', payload: { attempt: 2, delayMs: 200 } })
    run.after(200)
    expect(run.state).toMatchObject({ outcome: { status: 'completed' } })
    expect(
      run.log
        .filter(({ type }) => type === 'node.started')
        .map(event => (event.payload as { attempt: number }).attempt),
    ).toEqual([0, 1, 2])
  })

  it('R-FLOW-5: retries end: the node fails with the number of attempts made', () => {
    const run = given({ nodes: { f: { type: 'core.fail', settings: { maxRetries: 1, retryDelayMs: 5 } } } })
      .start()
      .after(5)
    expect(run.log.find(({ type }) => type === 'node.failed')).toMatchObject({ payload: { attempts: 2 } })
  })

  it('an error that cannot be retried is not', () => {
    const run = given({
      nodes: { f: { type: 'core.fail', config: { retryable: false }, settings: { maxRetries: 5 } } },
    }).start()
    expect(run.told()).not.toContain('node.retried f')
  })

  it('a delay ends when its time has come, not before', () => {
    const run = given({ nodes: { d: { type: 'core.delay', config: { ms: 500 } } } }).start()
    expect(run.wakeAt).toBe(1_500)
    expect(run.after(499).log).toHaveLength(2)
    expect(run.after(1).told().slice(2)).toEqual(['node.completed d', 'run.completed'])
  })

  it('a node that overstays its timeout fails as retryable', () => {
    const run = given({
      nodes: { d: { type: 'core.delay', config: { ms: 9_000 }, settings: { timeoutMs: 50 } } },
    }).start()
    expect(run.after(50).log).toHaveLength(2)
    expect(run.after(1).state).toMatchObject({ outcome: { status: 'failed', error: { code: 'node_timeout' } } })
  })

  it('time never runs backwards in a log, whatever the clock does', () => {
    const run = given({ nodes: { d: { type: 'core.delay', config: { ms: 10 } } } }).start()
    run.now = 5
    run.when({ type: 'CancelRun', by: 'me' })
    expect(run.log.map(({ at }) => at)).toEqual([1_000, 1_000, 1_000, 1_000])
  })
})

describe('bounds', () => {
  const chain = {
    nodes: { a: 'core.noop', b: 'core.noop', c: 'core.noop', d: 'core.noop' },
    edges: ['a > b', 'b > c', 'c > d'],
  }

  it('core §10 R-LIMIT-1 R-LIMIT-2: one node too many never starts, and the breach directly precedes the failure', () => {
    const run = given(chain).start({}, { recursionLimit: 3 })
    expect(run.told().filter(text => text.startsWith('node.started'))).toHaveLength(3)
    expect(run.told().slice(-2)).toEqual(['cap.breached d', 'run.failed'])
    expect(run.log.at(-2)).toMatchObject({ payload: { kind: 'node-executions', limit: 3, observed: 4, nodeId: 'd' } })
    expect(run.state).toMatchObject({ outcome: { error: { code: 'recursion_limit_exceeded' } } })
  })

  it('core §10 R-LIMIT-2: exactly as many nodes as allowed is fine', () => {
    expect(given(chain).start({}, { recursionLimit: 4 }).state).toMatchObject({ outcome: { status: 'completed' } })
  })

  it('core §10 R-LIMIT-3: the run timeout trips after its limit, never at it', () => {
    const run = given({ nodes: { d: { type: 'core.delay', config: { ms: 9_000 } } } }).start({}, { runTimeoutMs: 100 })
    expect(run.wakeAt).toBe(1_101)
    expect(run.after(100).log).toHaveLength(2)
    run.after(1)
    expect(run.told().slice(2)).toEqual(['node.cancelled d', 'cap.breached', 'run.failed'])
    expect(run.log.at(-2)).toMatchObject({ payload: { kind: 'run-duration', limit: 100, observed: 101 } })
  })

  it('core §10: an outcome that arrives after the time is over does not slip through', () => {
    const run = given({ nodes: { s: 'core.conformance.side-effect', b: 'core.noop' }, edges: ['s > b'] }, [
      'assay.conformance',
    ]).start({}, { runTimeoutMs: 100 })
    run.now += 101
    run.when({ type: 'EffectAnswered', nodeId: 's', since: 1, answer: { ok: true, output: 1 } })
    expect(run.told()).not.toContain('node.started b')
    expect(run.state).toMatchObject({ outcome: { error: { code: 'run_timeout' } } })
  })

  it.each([0, -1, 1.5, '7', null, 2 ** 53])(
    'R-LIMIT-4: a malformed bound is refused at creation: %s',
    recursionLimit => {
      expect(given(chain).start({}, { recursionLimit }).refusal).toMatchObject({ code: 'validation_error' })
    },
  )

  it("R-LIMIT-5: the workflow's own timeout does not count the time a run was paused", () => {
    const run = given({ nodes: { d: { type: 'core.delay', config: { ms: 150 } } }, settings: { timeout: 200 } }).start()
    run.when({ type: 'PauseRun', drainPolicy: 'immediate' })
    run.now += 1_000
    run.when({ type: 'ResumeRun' })
    expect(run.after(150).state).toMatchObject({ outcome: { status: 'completed' } })
  })
})

describe('cancel, pause, resume', () => {
  const sleeping = { nodes: { d: { type: 'core.delay', config: { ms: 500 } }, b: 'core.noop' }, edges: ['d > b'] }

  it('a cancel ends the run at once when nothing has to be waited for', () => {
    const run = given(sleeping).start().when({ type: 'CancelRun', by: 'me', reason: 'enough' })
    expect(run.told().slice(2)).toEqual(['node.cancelled d', 'run.cancelled'])
    expect(run.log.at(-1)).toMatchObject({ payload: { reason: 'enough', cancelledBy: 'me' } })
  })

  it('R-REST-9: cancelling twice is fine, and cancelling what has ended otherwise changes nothing', () => {
    const cancelled = given(sleeping).start().when({ type: 'CancelRun', by: 'me' })
    expect(cancelled.when({ type: 'CancelRun', by: 'me' }).refusal).toBeUndefined()
    const done = given({ nodes: { a: 'core.noop' } })
      .start()
      .when({ type: 'CancelRun', by: 'me' })
    expect(done.refusal).toBeUndefined()
    expect(done.told().at(-1)).toBe('run.completed')
  })

  const ended = {
    completed: () => given({ nodes: { a: 'core.noop' } }).start(),
    failed: () => given({ nodes: { a: 'core.fail' } }).start(),
    cancelled: () => given(sleeping).start().when({ type: 'CancelRun', by: 'me' }),
  }

  it.each(['completed', 'failed', 'cancelled'] as const)('R-RUN-1: a run that has %s stays so, whatever comes', end => {
    const run = ended[end]()
    const { length } = run.log
    run.when({ type: 'CancelRun', by: 'me' })
    run.when({ type: 'PauseRun', drainPolicy: 'immediate' })
    run.when({ type: 'ResumeRun' })
    run.when({ type: 'Continue' })
    expect(run.after(1_000).log).toHaveLength(length)
    expect(statusOf(run.state)).toBe(end)
  })

  it('R-REST-11: an immediate pause stops at once; the interrupted node starts as a fresh attempt', () => {
    const run = given(sleeping).start().when({ type: 'PauseRun', drainPolicy: 'immediate' })
    expect(run.log.at(-1)).toMatchObject({ type: 'run.paused', payload: { drainPolicy: 'immediate' } })
    expect(run.after(1_000).log).toHaveLength(3)
    run.when({ type: 'ResumeRun' })
    expect(run.log.at(-1)).toMatchObject({ type: 'node.started', payload: { attempt: 1 } })
    expect(run.after(500).state).toMatchObject({ outcome: { status: 'completed' } })
  })

  it('a draining pause that takes too long can be made immediate', () => {
    const run = given(sleeping)
      .start()
      .when({ type: 'PauseRun', drainPolicy: 'drain-current-node' })
      .when({ type: 'PauseRun', drainPolicy: 'immediate' })
    expect(run.log.at(-1)).toMatchObject({ type: 'run.paused', payload: { drainPolicy: 'immediate' } })
  })

  it('R-REST-11: a draining pause lets the current node end first and starts nothing new', () => {
    const run = given(sleeping).start().when({ type: 'PauseRun', drainPolicy: 'drain-current-node' })
    run.after(500)
    expect(run.told().slice(2)).toEqual(['assay.pause.requested', 'node.completed d', 'run.paused'])
    run.when({ type: 'ResumeRun' })
    expect(run.told().slice(-3)).toEqual(['node.started b', 'node.completed b', 'run.completed'])
  })

  it('R-REST-11: a second pause, and a resume of what is not paused, are refused with the status', () => {
    const run = given(sleeping).start()
    expect(run.when({ type: 'ResumeRun' }).refusal).toMatchObject({
      code: 'run_not_paused',
      details: { runStatus: 'running' },
    })
    run.when({ type: 'PauseRun', drainPolicy: 'immediate' })
    expect(run.when({ type: 'PauseRun', drainPolicy: 'immediate' }).refusal).toMatchObject({
      code: 'run_paused',
      details: { runStatus: 'paused' },
    })
  })

  it('a paused run can still be cancelled', () => {
    const run = given(sleeping)
      .start()
      .when({ type: 'PauseRun', drainPolicy: 'immediate' })
      .when({ type: 'CancelRun', by: 'me' })
    expect(run.state).toMatchObject({ phase: 'ended', outcome: { status: 'cancelled' } })
  })
})

describe('children', () => {
  const parent = (config: object = {}) =>
    given({
      nodes: { sub: { type: 'core.subWorkflow', config: { workflowId: 'child', ...config } as never } },
      variables: [{ name: 'mine', type: 'string', defaultValue: 'x' }],
    }).start()
  const dispatched = (config: object = {}) =>
    parent(config).when({
      type: 'ChildStarted',
      nodeId: 'sub',
      since: 1,
      worker: 0,
      childRunId: 'c1',
    })
  const ended = (status: string, variables = {}) =>
    ({ type: 'ChildEnded', nodeId: 'sub', childRunId: 'c1', status, variables, hidden: [] }) as never

  it('core §9.2 R-SUB-2: inputs are mapped once, when the node starts', () => {
    expect(parent({ inputMapping: { theirs: 'mine', gone: 'absent' } }).owed).toEqual([
      {
        kind: 'start-child',
        nodeId: 'sub',
        since: 1,
        worker: 0,
        workflowId: 'child',
        inputs: { theirs: 'x' },
        hiddenInputs: [],
        unset: ['gone'],
        timeoutMs: 0,
        principalScope: undefined,
      },
    ])
  })

  it('core §9.2 R-SUB-3: outputs are mapped only from a completed child, and what it never set stays untouched', () => {
    const run = dispatched({ outputMapping: { mine: 'result', other: 'unset' } }).when(
      ended('completed', { result: 42 }),
    )
    expect(run.state).toMatchObject({
      outcome: { status: 'completed', outputs: { childRunId: 'c1', childStatus: 'completed' } },
      variables: { mine: 42 },
    })
    expect(run.told()).not.toContain('variable.changed other')
  })

  it('core §9.2 R-SUB-4: a failed child fails its parent, or is absorbed', () => {
    expect(dispatched().when(ended('failed')).state).toMatchObject({
      outcome: { status: 'failed', error: { code: 'child_failed' } },
    })
    const absorbed = dispatched({ onChildFailure: 'absorb', outputMapping: { mine: 'result' } }).when(
      ended('failed', { result: 1 }),
    )
    expect(absorbed.state).toMatchObject({
      outcome: { status: 'completed', outputs: { childStatus: 'failed' } },
      variables: { mine: 'x' },
    })
  })

  it('core §9.2 R-SUB-5: a cancel waits for the child to end, and asks it to', () => {
    const run = dispatched().when({ type: 'CancelRun', by: 'me' })
    expect(run.state).toMatchObject({ phase: 'active', mode: { kind: 'stopping' } })
    expect(run.owed.map(({ kind }) => kind)).toEqual(['cancel-child', 'watch-child'])
    run.when(ended('cancelled'))
    expect(run.told().slice(-4)).toEqual([
      'assay.stop.requested',
      'core.workflowChain.event sub',
      'node.cancelled sub',
      'run.cancelled',
    ])
  })

  it('core §9.2 R-SUB-5: a child that must not be cancelled is left alone', () => {
    const run = dispatched({ propagateCancellation: false }).when({ type: 'CancelRun', by: 'me' })
    expect(run.state).toMatchObject({ phase: 'ended' })
  })

  it('a cancel before the child exists means it never will', () => {
    const run = parent().when({ type: 'CancelRun', by: 'me' })
    expect(run.when({ type: 'ChildStarted', nodeId: 'sub', since: 1, worker: 0, childRunId: 'c1' }).told().at(-1)).toBe(
      'run.cancelled',
    )
  })

  it('an outcome delivered twice changes nothing the second time', () => {
    const run = dispatched().when(ended('completed'))
    const length = run.log.length
    expect(run.when(ended('completed')).when(ended('failed')).log).toHaveLength(length)
  })
})

describe('inputs, variables, channels', () => {
  it('core §2.1 R-REST-3: undeclared inputs are welcome, defaults satisfy required, wrong types do not', () => {
    const variables = [
      { name: 'n', type: 'number' as const, required: true, defaultValue: 7 },
      { name: 's', type: 'string' as const, required: true },
    ]
    const run = () => given({ nodes: { a: 'core.noop' }, variables })
    expect(run().start({ s: 'x', extra: true }).state).toMatchObject({ variables: { n: 7, s: 'x', extra: true } })
    expect(run().start({}).refusal?.message).toContain('inputs.s is required')
    expect(run().start({ s: 1 }).refusal?.message).toContain('inputs.s must be of type string')
  })

  it('R-REST-6: tags and metadata change nothing of what a run does', () => {
    const nodes = {
      choose: { type: 'core.conditional', config: { expression: 'variables.n > 3 && inputs.n > 3' } },
      big: 'core.noop',
    }
    const workflow = { nodes, edges: ['choose.true > big'] }
    const plain = given(workflow).start({ n: 5 })
    const { payload } = plain.log[0] as Extract<Recorded, { type: 'run.started' }>
    const started = { ...payload, tags: ['urgent'], metadata: { n: 1 } }
    const labelled = given(workflow).when({ type: 'StartRun', runId: 'run-1', started })
    expect(labelled.log[0]).toMatchObject({ payload: { tags: ['urgent'], metadata: { n: 1 } } })
    expect(labelled.log.slice(1)).toEqual(plain.log.slice(1))
    expect(plain.log.at(-1)).toMatchObject({ type: 'run.completed' })
  })

  it('R-FLOW-2: a value reaches a node from a variable, an expression, a connection and a constant', () => {
    const run = given({
      nodes: {
        a: { type: 'core.identity', inputs: { payload: { type: 'variable', variableName: 'who' } } },
        b: { type: 'core.identity', inputs: { payload: { type: 'connection', nodeId: 'a', outputKey: 'payload' } } },
        end: {
          type: 'core.end',
          inputs: {
            text: { type: 'expression', expression: '"hello " + nodes.b.payload' },
            sum: { type: 'expression', expression: 'inputs.n + 1' },
            fixed: { type: 'static', value: [1] },
          },
        },
      },
      edges: ['a > b', 'b > end'],
    }).start({ who: 'you', n: 2 })
    expect(run.state).toMatchObject({ outcome: { outputs: { text: 'hello you', sum: 3, fixed: [1] } } })
  })

  it('R-FLOW-2: a missing value fails the node with what to do, unless it is optional', () => {
    const run = (optional: boolean) =>
      given({
        nodes: {
          a: { type: 'core.identity', inputs: { payload: { type: 'variable', variableName: 'nope', optional } } },
        },
      }).start()
    expect(run(false).state).toMatchObject({ outcome: { error: { code: 'input_missing' } } })
    expect(run(true).state).toMatchObject({ outcome: { status: 'completed' } })
  })

  it('R-LOG-4: sensitive values are masked in the log and still usable by nodes', () => {
    const run = given({
      nodes: {
        a: { type: 'core.identity', inputs: { payload: { type: 'variable', variableName: 'key' } } },
        b: { type: 'core.conditional', config: { expression: 'variables.key == "sk-1234"' } },
      },
      edges: ['a > b'],
      variables: [{ name: 'key', type: 'string', sensitive: true }],
    }).start({ key: 'sk-1234' })
    expect(JSON.stringify(run.log.map(({ payload }) => payload))).not.toContain('sk-1234')
    expect(run.state).toMatchObject({ variables: { key: 'sk-1234' }, outcome: { outputs: { result: true } } })
  })

  it.each([
    ['replace', undefined, [1, 2], 2],
    ['append', undefined, [1, 2], [1, 2]],
    ['merge', undefined, [{ a: 1 }, { b: 2 }], { a: 1, b: 2 }],
    ['counter', 10, [1, -4], 7],
    [
      'votes',
      undefined,
      [
        { userId: 'u', v: 1 },
        { userId: 'w', v: 1 },
        { userId: 'u', v: 2 },
      ],
      [
        { userId: 'w', v: 1 },
        { userId: 'u', v: 2 },
      ],
    ],
    ['feedback', undefined, ['x', 'y'], ['x', 'y']],
    [
      'message',
      undefined,
      [
        { messageId: 'm', t: 1 },
        { messageId: 'm', t: 2 },
      ],
      [{ messageId: 'm', t: 1 }],
    ],
    ['vendor.acme.own', undefined, [1, 2], 2],
  ] as const)('core §9.4 R-CHAN-1: the %s reducer folds writes in order', (reducer, initial, writes, expected) => {
    const nodes = Object.fromEntries(
      writes.map((value, i) => [`w${i}`, { type: 'core.channelWrite', config: { channelName: 'c', value } as never }]),
    )
    const edges = writes.slice(1).map((_, i) => `w${i} > w${i + 1}`)
    const run = given({
      nodes,
      edges,
      channels: { c: { reducer, ...(initial === undefined ? {} : { default: initial }) } },
    }).start()
    expect(run.state).toMatchObject({ channels: { c: expected }, outcome: { status: 'completed' } })
    const written = run.log.filter(({ type }) => type === 'channel.written')
    expect(written.map(({ payload }) => payload)).toMatchObject(writes.map(value => ({ channel: 'c', value, reducer })))
    expect(written).toHaveLength(writes.length)
  })

  it('core §9.4 R-CHAN-2: entries age out at the next write, and maxSize drops the oldest', () => {
    const nodes = {
      w0: { type: 'core.channelWrite', config: { channelName: 'c', value: 'old' } },
      d: { type: 'core.delay', config: { ms: 200 } },
      w1: { type: 'core.channelWrite', config: { channelName: 'c', value: 'new' } },
    }
    const run = given({ nodes, edges: ['w0 > d', 'd > w1'], channels: { c: { reducer: 'append', ttlMs: 100 } } })
      .start()
      .after(200)
    expect(run.state).toMatchObject({ channels: { c: [{ value: 'new', _ts: 1_200 }] } })
    const capped = given({ nodes, edges: ['w0 > d', 'd > w1'], channels: { c: { reducer: 'append', maxSize: 1 } } })
      .start()
      .after(200)
    expect(capped.state).toMatchObject({ channels: { c: ['new'] } })
  })

  it('core §9.4 R-CHAN-3: access lists, reducer types and channel names used as variables are enforced', () => {
    const write = (channels: object, value: unknown = 1) =>
      given({
        nodes: { w: { type: 'core.channelWrite', config: { channelName: 'c', value } as never } },
        channels: channels as never,
      }).start().state
    expect(write({ c: { reducer: 'append', access: 'private' } })).toMatchObject({
      outcome: { error: { code: 'channel_access_denied' } },
    })
    expect(write({ c: { reducer: 'append', access: { writers: ['core.channel*'] } } })).toMatchObject({
      outcome: { status: 'completed' },
    })
    expect(write({ c: { reducer: 'counter' } }, 'x')).toMatchObject({
      outcome: { error: { code: 'validation_error' } },
    })
    const set = given({
      nodes: { s: { type: 'core.setVariable', config: { name: 'c', value: 1 } } },
      channels: { c: { reducer: 'append' } },
    }).start()
    expect(set.state).toMatchObject({ outcome: { error: { code: 'validation_error' } } })
  })

  it('core §9.4 R-CHAN-4: a channel with a schema has every write checked before it is made', () => {
    const run = given({
      nodes: { w: { type: 'core.channelWrite', config: { channelName: 'c', value: 1 } } },
      channels: { c: { reducer: 'append', schema: { type: 'string' } } },
    }).start()
    expect(run.owed).toMatchObject([{ kind: 'check-schema', schema: { type: 'string' }, value: 1 }])
    expect(run.told()).not.toContain('channel.written w')
  })

  it('a value that grows without end stops at its bound, not at the end of the memory', () => {
    const run = given({
      nodes: {
        loop: { type: 'core.loop', config: { maxIterations: 60 } },
        grow: {
          type: 'core.setVariable',
          config: { name: 'x' },
          inputs: { value: { type: 'expression', expression: 'variables.x + variables.x' } },
        },
      },
      edges: ['loop.body > grow', 'grow > loop'],
      variables: [{ name: 'x', type: 'string', defaultValue: 'a' }],
    }).start()
    // The larger it gets the fewer passes a decision makes.
    while (run.owed.some(({ kind }) => kind === 'continue')) run.when({ type: 'Continue' })
    expect(run.state).toMatchObject({ outcome: { status: 'failed', error: { code: 'value_too_large' } } })
  })

  it('a secret stays one wherever the run takes it: copies, channels, parts, failures and children', () => {
    const copy = {
      type: 'core.setVariable',
      config: { name: 'plain' },
      inputs: { value: { type: 'expression' as const, expression: '"x" + variables.creds.password' } },
    }
    const run = given({
      nodes: {
        copy,
        leak: {
          type: 'core.channelWrite',
          config: { channelName: 'open' },
          inputs: { value: { type: 'variable', variableName: 'plain' } },
        },
        part: {
          type: 'core.identity',
          inputs: { payload: { type: 'expression', expression: 'variables.creds.password' } },
        },
        wrong: { type: 'core.delay', inputs: { delayMs: { type: 'variable', variableName: 'plain' } } },
        child: {
          type: 'core.subWorkflow',
          config: { workflowId: 'c', inputMapping: { given: 'plain', other: 'fine' } },
        },
      },
      edges: [
        'copy > leak',
        'leak > part',
        { path: 'part > wrong' },
        { path: 'wrong > child', triggerRule: 'any_failed' },
      ],
      variables: [
        { name: 'creds', type: 'object', sensitive: true },
        { name: 'fine', type: 'string', defaultValue: 'ok' },
      ],
    }).start({ creds: { password: 'hunter22' } })
    expect(run.told()).toContain('node.failed wrong')
    expect(JSON.stringify(run.log.map(({ payload }) => payload))).not.toContain('hunter22')
    expect(run.state).toMatchObject({
      hidden: { variables: ['creds', 'plain'], channels: ['open'] },
      variables: { plain: 'xhunter22' },
    })
    expect(run.owed).toMatchObject([
      { kind: 'start-child', inputs: { given: 'xhunter22', other: 'ok' }, hiddenInputs: ['given'] },
    ])
  })

  it('a sensitive variable may become null', () => {
    const run = given({
      nodes: { a: { type: 'core.setVariable', config: { name: 'key', value: null } } },
      variables: [{ name: 'key', type: 'string', sensitive: true }],
    }).start({ key: 'sk-1' })
    expect(run.state).toMatchObject({ variables: { key: null } })
  })

  it('a node that declares an artifact type leaves an artifact whose id names its event', () => {
    const run = given({
      nodes: {
        a: { type: 'core.identity', inputs: { payload: { type: 'static', value: 'text' } }, artifactType: 'doc' },
      },
    }).start()
    expect(run.log[3]).toMatchObject({
      sequence: 3,
      type: 'artifact.created',
      payload: { artifactId: 'art-3', artifactType: 'doc' },
      secret: { content: { payload: 'text' } },
    })
  })
})

describe('effects', () => {
  const calling = () =>
    given({ nodes: { s: { type: 'core.conformance.side-effect', settings: { maxRetries: 1, retryDelayMs: 10 } } } }, [
      'assay.conformance',
    ]).start()

  it('core §4.2 R-EFFECT-1: an effect is owed until it is answered, with the same ordinal on a retry', () => {
    const run = calling()
    expect(run.owed).toMatchObject([{ kind: 'call-provider', ordinal: 0, since: 1 }])
    run
      .when({
        type: 'EffectAnswered',
        nodeId: 's',
        since: 1,
        answer: { ok: false, error: { code: 'effect_failed', message: 'x', retryable: true } },
      })
      .after(10)
    expect(run.owed).toMatchObject([{ kind: 'call-provider', ordinal: 0, since: 3 }])
    run.when({ type: 'EffectAnswered', nodeId: 's', since: 3, answer: { ok: true, output: 'ok' } })
    expect(run.state).toMatchObject({ outcome: { status: 'completed', outputs: { result: 'ok' } } })
  })

  it('core §4.2 R-EFFECT-1: each pass of a loop is an effect of its own', () => {
    const run = given(
      {
        nodes: { loop: { type: 'core.loop', config: { maxIterations: 2 } }, s: 'core.conformance.side-effect' },
        edges: ['loop.body > s', 's > loop'],
      },
      ['assay.conformance'],
    ).start()
    const ordinals: number[] = []
    while (run.owed[0]?.kind === 'call-provider') {
      ordinals.push(run.owed[0].ordinal)
      run.when({
        type: 'EffectAnswered',
        nodeId: 's',
        since: run.owed[0].since,
        answer: { ok: true, output: null },
      })
    }
    expect(ordinals).toEqual([0, 1])
  })

  it('a run that takes its host down again and again is stopped with the count', () => {
    expect(calling().when({ type: 'Quarantine', attempts: 6 }).state).toMatchObject({
      outcome: { status: 'failed', error: { code: 'run_quarantined', details: { attempts: 6 } } },
    })
  })
})
