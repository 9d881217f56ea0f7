import { describe, expect, it } from 'vitest'
import { agentsDouble } from '../../testing/agents.js'
import { engineRig, register, startRun } from '../../testing/engine-rig.js'
import { AGENT, agentFlow, answered, tool, wants } from '../../testing/invocations.js'
import { LIMITS } from '../../testing/limits.js'
import { branchOf, logOf, payloadsOf, spendOf } from '../../testing/run-logs.js'

const READ = tool('mcp:files.read')
const SEND = tool('x:send', { scopes: ['mail'] })

/** Tokens of calls that were made, not of those that were found again. */
const billed = (log: Parameters<typeof payloadsOf>[0]): number =>
  payloadsOf(log, 'provider.usage')
    .filter(({ cacheHit }) => cacheHit !== true)
    .reduce((sum, { totalTokens }) => sum + Number(totalTokens), 0)

describe('a branch of a run whose node was tried again', () => {
  it('R-BUDGET-1 R-BUDGET-3: pays for the calls that it makes itself, though its source has paid for the like', async () => {
    const rig = engineRig()
    let failures = 0
    const agents = agentsDouble({
      agents: { [AGENT]: { tools: [READ] } },
      think: ({ rounds }, nth) => {
        if (rounds.length === 0) return { said: wants(READ.toolId), usage: { inputTokens: 400, outputTokens: 400 } }
        if (nth !== 2) return { said: answered() }
        failures += 1
        return { ok: false, code: 'model_unavailable', message: 'not now', retryable: true }
      },
    })
    const engine = await rig.host({ agents })
    await register(engine, agentFlow({ settings: { maxRetries: 2, retryDelayMs: 1_000 } }, { id: 'w' }))
    const runId = await startRun(engine, 'w', { configurable: { budget: { maxTokens: 3_000 } } })
    await rig.clock.advance(2_000)
    const source = await logOf(rig, runId)
    expect(failures).toBe(1)
    expect(billed(source)).toBe(815)
    const cuts = source.flatMap(({ type }, i) => (type === 'node.retried' || type === 'provider.usage' ? [i + 1] : []))
    for (const fromSeq of cuts) {
      const made = agents.thoughts.length
      const branch = await branchOf(engine, { runId, fromSeq })
      await rig.clock.advance(2_000)
      const log = await logOf(rig, branch)
      expect(log.at(-1)!.type, `from ${fromSeq}`).toBe('run.completed')
      const own = log.slice(fromSeq)
      const uncached = payloadsOf(own, 'provider.usage').filter(({ cacheHit }) => cacheHit !== true)
      expect(uncached, `from ${fromSeq}`).toHaveLength(agents.thoughts.length - made)
      expect((await spendOf(engine, branch))!.tokens, `from ${fromSeq}`).toBe(billed(log))
    }
    expect(cuts.length).toBeGreaterThan(3)
  })
})

describe('a branch whose own node is tried again', () => {
  it.each([
    [1, 'none'],
    [2, 'one'],
  ])(
    'R-BUDGET-1 R-BUDGET-4: no call goes uncounted that was its source’s before the cut and is now its own (fails at %i, after %s of its own)',
    async (failsAt, _own) => {
      const rig = engineRig()
      let failures = 0
      let isBranch = false
      const agents = agentsDouble({
        agents: { [AGENT]: { tools: [READ] } },
        think: ({ rounds }) => {
          if (isBranch && failures === 0 && rounds.length === failsAt) {
            failures += 1
            return { ok: false, code: 'model_unavailable', message: 'not now', retryable: true }
          }
          if (rounds.length === 2) return { said: answered() }
          return { said: wants(READ.toolId), usage: { inputTokens: 400, outputTokens: 400 } }
        },
      })
      const engine = await rig.host({ agents })
      await register(engine, agentFlow({ settings: { maxRetries: 2, retryDelayMs: 1_000 } }, { id: 'w' }))
      const runId = await startRun(engine, 'w', { configurable: { budget: { maxTokens: 9_000, maxToolCalls: 9 } } })
      const fromSeq = (await logOf(rig, runId)).findIndex(({ type }) => type === 'agent.toolReturned') + 1
      isBranch = true
      const made = { thoughts: agents.thoughts.length, uses: agents.uses.length }
      const branch = await branchOf(engine, { runId, fromSeq })
      await rig.clock.advance(2_000)
      const log = await logOf(rig, branch)
      expect(log.at(-1)!.type).toBe('run.completed')
      expect(failures).toBe(1)
      const uncached = payloadsOf(log.slice(fromSeq), 'provider.usage').filter(({ cacheHit }) => cacheHit !== true)
      expect(uncached.length).toBeGreaterThanOrEqual(agents.thoughts.length - made.thoughts)
      const retried = log.findIndex(({ type }) => type === 'node.retried')
      expect(payloadsOf(log.slice(retried), 'provider.usage')[0]).not.toHaveProperty('cacheHit')
      const spend = (await spendOf(engine, branch))!
      expect(spend.tokens).toBe(billed(log))
      expect(spend.toolCalls).toBeGreaterThanOrEqual(1 + agents.uses.length - made.uses)
    },
  )
})

describe('a branch that may spend otherwise than its source', () => {
  it('R-BUDGET-2 R-BUDGET-4: more: it goes on where its source was exhausted', async () => {
    const rig = engineRig()
    const engine = await rig.host({ agents: agentsDouble() })
    await register(engine, agentFlow({}, { id: 'w' }))
    const runId = await startRun(engine, 'w', { configurable: { budget: { maxTokens: 50 } } })
    const fromSeq = (await logOf(rig, runId)).findIndex(({ type }) => type === 'budget.exhausted')
    expect(fromSeq).toBeGreaterThan(0)
    const overlay = { configurable: { budget: { maxTokens: 50_000 } } }
    const log = await logOf(rig, await branchOf(engine, { runId, fromSeq, overlay }))
    expect(log.at(-1)!.type).toBe('run.completed')
    expect(payloadsOf(log, 'budget.consumed')).toEqual([
      { dimension: 'tokens', consumed: 15, limit: 50_000, remaining: 49_985 },
    ])
  })

  it('R-BUDGET-2 R-BUDGET-4: less: no call is made beyond it', async () => {
    const rig = engineRig()
    const agents = agentsDouble()
    const engine = await rig.host({ agents })
    await register(engine, agentFlow({}, { id: 'w' }))
    const runId = await startRun(engine, 'w')
    const fromSeq = (await logOf(rig, runId)).findIndex(({ type }) => type === 'assay.model.requested')
    const made = agents.thoughts.length
    const overlay = { configurable: { budget: { maxTokens: 10 } } }
    const log = await logOf(rig, await branchOf(engine, { runId, fromSeq, overlay }))
    expect(log.at(-1)).toMatchObject({ type: 'run.failed', payload: { error: { code: 'budget_exhausted' } } })
    expect(agents.thoughts).toHaveLength(made)
  })

  it('R-BUDGET-2: but never more than the host lets it', async () => {
    const rig = engineRig()
    const agents = agentsDouble()
    const engine = await rig.host({ agents, limits: { ...LIMITS, budget: { maxTokens: 50 } } })
    await register(engine, agentFlow({}, { id: 'w' }))
    const runId = await startRun(engine, 'w')
    const source = await logOf(rig, runId)
    const overlay = { configurable: { budget: { maxTokens: 50_000 } } }
    for (let fromSeq = 0; fromSeq <= source.findIndex(({ type }) => type === 'budget.exhausted'); fromSeq += 1) {
      const log = await logOf(rig, await branchOf(engine, { runId, fromSeq, overlay }))
      expect(payloadsOf(log, 'budget.exhausted'), `from ${fromSeq}`).toMatchObject([{ limit: 50 }])
    }
    expect(agents.thoughts).toEqual([])
  })
})

describe('a branch that somebody else asks for', () => {
  async function sent() {
    const rig = engineRig()
    const agents = agentsDouble({
      agents: { [AGENT]: { tools: [SEND] } },
      think: ({ rounds }) => ({ said: rounds.length === 0 ? wants(SEND.toolId) : answered() }),
    })
    const engine = await rig.host({ agents })
    await register(engine, agentFlow({}, { id: 'w' }))
    const runId = await startRun(engine, 'w', { scopes: ['mail', 'runs:create'] })
    expect(agents.uses).toHaveLength(1)
    return { rig, agents, engine, runId, source: await logOf(rig, runId) }
  }

  it('R-ATTEST-6 R-TOOL-4: who may do less than its source cannot use its tools, wherever before their call it is cut', async () => {
    const { rig, agents, engine, runId, source } = await sent()
    const called = source.findIndex(({ type }) => type === 'agent.toolCalled')
    for (let fromSeq = 0; fromSeq <= called; fromSeq += 1) {
      const log = await logOf(rig, await branchOf(engine, { runId, fromSeq, scopes: ['runs:create', 'runs:read'] }))
      expect(agents.uses, `from ${fromSeq}`).toHaveLength(1)
      expect(payloadsOf(log, 'agent.toolReturned'), `from ${fromSeq}`).toMatchObject([
        { status: 'forbidden', error: { code: 'forbidden', details: { requiredScopes: ['mail'] } } },
      ])
      expect(log.at(-1)!.type, `from ${fromSeq}`).toBe('run.completed')
    }
  })

  it('R-ATTEST-6: nor who branches off from such a branch with all that the source had', async () => {
    const { rig, agents, engine, runId } = await sent()
    const narrow = await branchOf(engine, { runId, fromSeq: 1, scopes: ['runs:create'] })
    const again = await branchOf(engine, { runId: narrow, fromSeq: 2, scopes: ['mail', 'runs:create'] })
    expect(payloadsOf(await logOf(rig, again), 'agent.toolReturned')).toMatchObject([{ status: 'forbidden' }])
    expect(agents.uses).toHaveLength(1)
  })

  it('R-ATTEST-6: who may do more than its source has no more for it', async () => {
    const { rig, agents, engine } = await sent()
    const poor = await startRun(engine, 'w', { scopes: ['runs:create'] })
    for (const fromSeq of [0, 1, 3]) {
      const log = await logOf(rig, await branchOf(engine, { runId: poor, fromSeq, scopes: ['mail', 'runs:create'] }))
      expect(payloadsOf(log, 'agent.toolReturned')).toMatchObject([{ status: 'forbidden' }])
    }
    expect(agents.uses).toHaveLength(1)
  })

  it('R-TOOL-4: who may do the same uses them', async () => {
    const { rig, agents, engine, runId } = await sent()
    const log = await logOf(rig, await branchOf(engine, { runId, fromSeq: 1, scopes: ['mail', 'runs:create'] }))
    expect(payloadsOf(log, 'agent.toolReturned')).toMatchObject([{ status: 'ok' }])
    expect(agents.uses).toHaveLength(2)
  })
})
