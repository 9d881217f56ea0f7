import { describe, expect, it } from 'vitest'
import { type AgentsDouble, agentsDouble } from '../../testing/agents.js'
import { engineRig, type Rig, register, startRun } from '../../testing/engine-rig.js'
import { AGENT, agentFlow, answered, tool, wants } from '../../testing/invocations.js'
import { settled } from '../../testing/manual-clock.js'
import { MortalHost, never } from '../../testing/mortal-host.js'
import { heldOf, logOf, onlyRun, payloadsOf, spendOf } from '../../testing/run-logs.js'
import type { ModelCallRequest } from '../ports/agents.js'
import type { Store } from '../ports/store.js'

const READ = tool('mcp:files.read')
const SEND = tool('http:mail.send', { transport: 'http', repeat: 'never' })

/** Faults that were injected; each must have happened. */
const faults = {
  'hosts that died in a call': 0,
  'hosts that died telling so': 0,
  'commits refused': 0,
  'claims that could not be left': 0,
  'reads refused': 0,
  'hosts stopped in a call': 0,
  'claims settled late': 0,
  'hosts fenced': 0,
}

/** A call that was taken back after it had cost something. */
const takenBack = ({ signal }: ModelCallRequest) =>
  new Promise<{ ok: false; code: string; message: string; retryable: true; usage: typeof BILLED }>(resolve => {
    const failed = {
      ok: false,
      code: 'model_broke_off',
      message: 'taken back',
      retryable: true,
      usage: BILLED,
    } as const
    signal.addEventListener('abort', () => resolve(failed))
  })
const BILLED = { inputTokens: 100, outputTokens: 1_000 }

/** A run whose host has died in the middle of its first call of a model; every later call is answered. */
async function orphaned(): Promise<{ rig: Rig; agents: AgentsDouble }> {
  const rig = engineRig()
  let host: MortalHost | undefined
  const agents = agentsDouble({
    think: (_ask, nth) => {
      if (nth > 1) return { said: answered() }
      host!.die()
      return never()
    },
  })
  host = await new MortalHost(rig).boot(agents)
  await register(host.engine, agentFlow({}, { id: 'w' }))
  const created = startRun(host.engine, 'w', { inputs: { task: 't' } })
  created.catch(error => expect(String(error)).toContain('unavailable'))
  await settled()
  await settled()
  expect(host.isDead).toBe(true)
  faults['hosts that died in a call'] += 1
  return { rig, agents }
}

/** Of a run with one call: every time it was made beyond the first was told to be lost before. */
async function expectCounted(rig: Rig, agents: AgentsDouble, where?: string): Promise<void> {
  const log = await logOf(rig, await onlyRun(rig))
  expect(log.at(-1)!.type, where).toBe('run.completed')
  const lost = payloadsOf(log, 'assay.model.lost')
  expect(agents.thoughts.length, where).toBeLessThanOrEqual(1 + lost.length)
  expect(lost.length, where).toBeGreaterThanOrEqual(1)
  expect(payloadsOf(log, 'provider.usage'), where).toHaveLength(1)
}

describe('a call of a model that a dead host had begun', () => {
  it('R-BUDGET-1: is never made again uncounted, wherever the host dies that tells of it', async () => {
    for (const when of ['before', 'after'] as const)
      for (const at of [1, 2, 3, 4]) {
        const { rig, agents } = await orphaned()
        const second = new MortalHost(rig)
        second.dieAt(at, when)
        await second.boot(agents)
        await settled()
        expect(second.isDead, `${when} write ${at}`).toBe(true)
        faults['hosts that died telling so'] += 1
        await new MortalHost(rig).boot(agents)
        await rig.clock.advance(2_000)
        await expectCounted(rig, agents, `the second host dies ${when} its write ${at}`)
      }
  })

  it('R-BUDGET-1: nor when telling of it is refused once', async () => {
    const { rig, agents } = await orphaned()
    const second = new MortalHost(rig)
    second.refuseOnce('commit')
    await second.boot(agents)
    await settled()
    expect(second.hasRefused).toBe(true)
    faults['commits refused'] += 1
    await rig.clock.advance(30_000)
    await expectCounted(rig, agents)
    expect(agents.thoughts).toHaveLength(2)
  })

  it('R-BUDGET-1: nor when its claim cannot be left once', async () => {
    const { rig, agents } = await orphaned()
    const second = new MortalHost(rig)
    second.refuseOnce('abandonEffect')
    await second.boot(agents)
    await settled()
    expect(second.hasRefused).toBe(true)
    faults['claims that could not be left'] += 1
    await rig.clock.advance(3_000)
    await expectCounted(rig, agents)
    expect(agents.thoughts).toHaveLength(2)
  })
})

describe('a host that is stopped in the middle of a call', () => {
  async function stopped(maxTokens: number) {
    const rig = engineRig()
    const agents = agentsDouble({ think: (ask, nth) => (nth > 1 ? { said: answered() } : takenBack(ask)) })
    const engine = await rig.host({ agents })
    await register(engine, agentFlow({}, { id: 'w' }))
    const configurable = { budget: { maxTokens } }
    const runId = await startRun(engine, 'w', { inputs: { task: 't' }, configurable })
    expect(agents.thoughts).toHaveLength(1)
    const stopping = engine.stop(10_000)
    await rig.clock.advance(11_000)
    await stopping
    faults['hosts stopped in a call'] += 1
    const next = await rig.host({ agents })
    await rig.clock.advance(2_000)
    return { agents, log: await logOf(rig, runId), spend: await spendOf(next, runId), held: await heldOf(next, runId) }
  }

  it('R-BUDGET-1: the next one tells of the loss, and then makes the call again', async () => {
    const { agents, log, spend, held } = await stopped(5_000)
    expect(log.at(-1)!.type).toBe('run.completed')
    expect(payloadsOf(log, 'assay.model.lost')).toMatchObject([{ call: 1, attempt: 1, heldTokens: 1_100 }])
    expect(agents.thoughts).toHaveLength(2)
    expect([spend!.tokens, held!.tokens]).toEqual([15, 1_100])
  })

  it('R-BUDGET-4: and does not make it where what is left is not enough', async () => {
    const { agents, log, spend, held } = await stopped(1_200)
    expect(log.at(-1)).toMatchObject({ type: 'run.failed', payload: { error: { code: 'budget_exhausted' } } })
    expect(agents.thoughts).toHaveLength(1)
    expect([spend, held!.tokens]).toEqual([undefined, 1_100])
  })

  it.each([
    [SEND, 1, 'effect_outcome_unknown'],
    [READ, 2, undefined],
  ])('A1: a call of $0.toolId that was cut short is made $1 time(s) in all', async (used, times, code) => {
    const rig = engineRig()
    const agents = agentsDouble({
      agents: { [AGENT]: { tools: [used] } },
      think: ({ rounds }) => ({ said: rounds.length === 0 ? wants(used.toolId) : answered() }),
      use: ({ signal }, nth) =>
        nth > 1
          ? { status: 'ok', durationMs: 1, resultTokens: 1 }
          : new Promise(resolve =>
              signal.addEventListener('abort', () => resolve({ status: 'error', durationMs: 1, resultTokens: 1 })),
            ),
    })
    const engine = await rig.host({ agents })
    await register(engine, agentFlow({}, { id: 'w' }))
    const runId = await startRun(engine, 'w', { inputs: { task: 't' } })
    expect(agents.uses).toHaveLength(1)
    const stopping = engine.stop(10_000)
    await rig.clock.advance(11_000)
    await stopping
    faults['hosts stopped in a call'] += 1
    await rig.host({ agents })
    await rig.clock.advance(10_000)
    expect(agents.uses).toHaveLength(times)
    const end = (await logOf(rig, runId)).at(-1)!
    expect(end).toMatchObject(
      code === undefined ? { type: 'run.completed' } : { type: 'run.failed', payload: { error: { code } } },
    )
  })

  it('A1: what is under way may end, and nothing new is begun; the next host goes on from there', async () => {
    const rig = engineRig()
    const agents = agentsDouble({
      agents: { [AGENT]: { tools: [READ], maxRounds: 50 } },
      think: async ({ rounds }) => {
        await new Promise<void>(resolve => rig.clock.after(1_000, resolve))
        return { said: rounds.length < 3 ? wants(READ.toolId) : answered() }
      },
    })
    const engine = await rig.host({ agents })
    await register(engine, agentFlow({}, { id: 'w' }))
    const runId = await startRun(engine, 'w', { inputs: { task: 't' } })
    const stopping = engine.stop(10_000)
    await rig.clock.advance(11_000)
    await stopping
    faults['hosts stopped in a call'] += 1
    expect(agents.thoughts).toHaveLength(1)
    expect(agents.uses).toEqual([])
    await rig.host({ agents })
    await rig.clock.advance(10_000)
    const log = await logOf(rig, runId)
    expect(log.at(-1)!.type).toBe('run.completed')
    expect(payloadsOf(log, 'assay.model.lost')).toEqual([])
    expect(new Set(agents.thoughts.map(({ id }) => id)).size).toBe(agents.thoughts.length)
  })
})

describe('a store that cannot be read once, after a call was claimed', () => {
  it.each(['think', 'use'] as const)('A1: %s: nothing has happened, so it is simply tried again', async what => {
    const rig = engineRig()
    const later = () => new Promise<void>(resolve => rig.clock.after(500, resolve))
    const agents = agentsDouble({
      agents: { [AGENT]: { tools: [SEND] } },
      think: async ({ rounds }) => {
        if (what === 'use') await later()
        return { said: rounds.length === 0 ? wants(SEND.toolId) : answered() }
      },
      use: async () => {
        if (what === 'think') await later()
        return { status: 'ok', durationMs: 1, resultTokens: 1 }
      },
    })
    const first = await rig.host({ agents })
    await register(first, agentFlow({}, { id: 'w' }))
    const runId = await startRun(first, 'w', { inputs: { task: 't' } })
    await first.command('t1', runId, { type: 'pause', drainPolicy: 'drain-current-node' })
    await rig.clock.advance(1_000)
    expect((await logOf(rig, runId)).at(-1)!.type).toBe('run.paused')
    await first.stop(0)
    // A host that has nothing at hand: whatever the next call needs, it must read.
    const host = await new MortalHost(rig).boot(agents)
    host.refuseOnce('readEffect')
    await host.engine.command('t1', runId, { type: 'resume' })
    await settled()
    expect(host.hasRefused).toBe(true)
    faults['reads refused'] += 1
    await rig.clock.advance(30_000)
    const log = await logOf(rig, runId)
    expect(log.at(-1)!.type).toBe('run.completed')
    expect(payloadsOf(log, 'assay.model.lost')).toEqual([])
    expect([agents.thoughts.length, agents.uses.length]).toEqual([2, 1])
  })
})

/** Settles claims without an outcome only after a while. */
const settlingLate = ({ store, clock }: Rig): Store =>
  new Proxy(store, {
    get(target, name) {
      const value = Reflect.get(target, name)
      if (typeof value !== 'function') return value
      if (name !== 'releaseEffect' && name !== 'abandonEffect') return value.bind(target)
      return async (...given: unknown[]) => {
        faults['claims settled late'] += 1
        await new Promise<void>(resolve => clock.after(50, resolve))
        return value.apply(target, given)
      }
    },
  })

describe('a call that was taken back', () => {
  it('R-BUDGET-1: paused and resumed before its claim is settled, it is lost once and made again once', async () => {
    const rig = engineRig()
    const agents = agentsDouble({ think: (ask, nth) => (nth > 1 ? { said: answered() } : takenBack(ask)) })
    const engine = await rig.host({ agents, store: settlingLate(rig) })
    await register(engine, agentFlow({}, { id: 'w' }))
    const runId = await startRun(engine, 'w', { configurable: { budget: { maxTokens: 100_000 } } })
    await engine.command('t1', runId, { type: 'pause', drainPolicy: 'immediate' })
    await settled()
    await engine.command('t1', runId, { type: 'resume' })
    await rig.clock.advance(5_000)
    const log = await logOf(rig, runId)
    expect(log.at(-1)!.type).toBe('run.completed')
    expect(payloadsOf(log, 'assay.model.lost')).toHaveLength(1)
    expect(payloadsOf(log, 'provider.usage').map(({ totalTokens }) => totalTokens)).toEqual([15])
    expect(agents.thoughts).toHaveLength(2)
    expect((await spendOf(engine, runId))!.tokens).toBe(15)
    expect((await heldOf(engine, runId))!.tokens).toBe(1_100)
  })

  const FIRST = { toolId: READ.toolId, argsHash: '1'.repeat(64) }
  const SECOND = { toolId: READ.toolId, argsHash: '2'.repeat(64) }

  /** Says one thing to whoever no longer listens, and another to the next who asks. */
  const twoAnswers = ({ rounds, signal }: ModelCallRequest, nth: number) => {
    const first = { said: wants(FIRST), args: [{ path: 'first' }] }
    if (nth === 1) return new Promise<typeof first>(resolve => signal.addEventListener('abort', () => resolve(first)))
    if (rounds.length === 0) return { said: wants(SECOND), args: [{ path: 'second' }] }
    return { said: answered() }
  }

  it('R-TOOL-3: what it said after all is not what the tool is called with', async () => {
    const rig = engineRig()
    const agents = agentsDouble({ agents: { [AGENT]: { tools: [READ] } }, think: twoAnswers })
    const engine = await rig.host({ agents })
    await register(engine, agentFlow({}, { id: 'w' }))
    const runId = await startRun(engine, 'w')
    await engine.command('t1', runId, { type: 'pause', drainPolicy: 'immediate' })
    await settled()
    await engine.command('t1', runId, { type: 'resume' })
    await rig.clock.advance(3_000)
    const log = await logOf(rig, runId)
    expect(log.at(-1)!.type).toBe('run.completed')
    expect(agents.uses.map(({ args }) => args)).toEqual([{ path: 'second' }])
    expect(payloadsOf(log, 'agent.toolCalled').map(({ argsHash }) => argsHash)).toEqual([SECOND.argsHash])
  })

  it('R-TOOL-3 R-BUDGET-1: nor on a host that was fenced meanwhile and gets the run back', async () => {
    const rig = engineRig()
    let holds = true
    const agents = agentsDouble({
      agents: { [AGENT]: { tools: [READ] } },
      think: twoAnswers,
      use: async ({ signal }) => {
        if (!holds) return { status: 'ok', durationMs: 1, resultTokens: 1 }
        await new Promise<void>(resolve => signal.addEventListener('abort', () => resolve()))
        return { status: 'error', code: 'tool_cut_short', durationMs: 1, resultTokens: 1 }
      },
    })
    const first = await rig.host({ agents, hostName: 'first' })
    await register(first, agentFlow({}, { id: 'w' }))
    const runId = await startRun(first, 'w')
    const second = await rig.host({ agents, hostName: 'second' })
    // Somebody registers under the name of the first, which goes on unaware of it for a while.
    const ghost = { hostId: 'ghost', hostName: 'first', leaseMs: 1, now: rig.clock.now() }
    await rig.store.registerHost(ghost)
    faults['hosts fenced'] += 1
    await rig.clock.advance(8_000)
    const taken = (await rig.store.readRun(null, runId))!.owner
    expect(agents.thoughts).toHaveLength(2)
    expect(payloadsOf(await logOf(rig, runId), 'assay.model.lost')).toHaveLength(1)
    holds = false
    const before = agents.uses.length
    const stopping = second.stop(0)
    await rig.clock.advance(5_000)
    await stopping
    await rig.clock.advance(15_000)
    expect((await rig.store.readRun(null, runId))!.owner).not.toBe(taken)
    const log = await logOf(rig, runId)
    expect(log.at(-1)!.type).toBe('run.completed')
    expect(agents.uses.length).toBeGreaterThan(before)
    for (const { args } of agents.uses) expect(args).toEqual({ path: 'second' })
    expect(payloadsOf(log, 'agent.toolCalled').map(({ argsHash }) => argsHash)).toEqual([SECOND.argsHash])
  })
})

it('every fault has happened', () => {
  for (const [what, count] of Object.entries(faults)) expect(count, what).toBeGreaterThan(0)
})
