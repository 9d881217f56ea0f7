import { describe, expect, it } from 'vitest'
import type { JsonObject } from '../../core/json.js'
import { agentsDouble } from '../../testing/agents.js'
import { engineRig, register, startRun } from '../../testing/engine-rig.js'
import { AGENT, agentFlow, answered, tool, wants } from '../../testing/invocations.js'
import { LIMITS } from '../../testing/limits.js'
import { branchOf, logOf, payloadsOf } from '../../testing/run-logs.js'
import type { Commit } from '../ports/event-log.js'

const SEND = tool('x:send', { scopes: ['mail'] })

const handing = (id: string, workflowId: string, config: JsonObject = {}) => ({
  id,
  nodes: { sub: { type: 'core.subWorkflow', config: { workflowId, ...config } } },
})

describe('models that a run may not call', () => {
  async function family(limits = LIMITS) {
    const rig = engineRig()
    const agents = agentsDouble()
    const engine = await rig.host({ agents, limits: { ...limits, maxDepth: 8 } })
    await register(engine, agentFlow({}, { id: 'w' }), handing('middle', AGENT), handing('top', 'middle'))
    return { rig, agents, engine }
  }

  it.each([{ modelDeny: ['*'], maxTokens: 5_000 }, { modelDeny: ['openai:gpt-*'] }, { modelAllow: ['claude-*'] }])(
    'R-BUDGET-5 R-BUDGET-7: %j holds for its workers too, however deep',
    async budget => {
      const { rig, agents, engine } = await family()
      for (const workflowId of ['w', 'middle', 'top']) {
        const runId = await startRun(engine, workflowId, { configurable: { budget } })
        await rig.clock.advance(3_000)
        expect((await logOf(rig, runId)).at(-1)!.type, workflowId).toBe('run.failed')
      }
      const runs = await rig.store.listRuns({ tenant: 't1', limit: 20 })
      const denied = await Promise.all(runs.map(async ({ runId }) => JSON.stringify((await logOf(rig, runId)).at(-1))))
      expect(denied.filter(told => told.includes('budget_model_denied')).length).toBeGreaterThanOrEqual(3)
      expect(agents.thoughts).toEqual([])
    },
  )

  it('R-BUDGET-5 R-BUDGET-7: what the host denies, too', async () => {
    const { rig, agents, engine } = await family({ ...LIMITS, budget: { modelDeny: ['gpt-*'] } })
    await startRun(engine, 'top')
    await rig.clock.advance(3_000)
    expect(agents.thoughts).toEqual([])
  })

  it('R-BUDGET-5: what it may call, its workers may', async () => {
    const { rig, agents, engine } = await family()
    const runId = await startRun(engine, 'top', { configurable: { budget: { modelAllow: ['gpt-*'] } } })
    await rig.clock.advance(3_000)
    expect((await logOf(rig, runId)).at(-1)!.type).toBe('run.completed')
    expect(agents.thoughts).toHaveLength(1)
  })

  it('R-BUDGET-5: what a branch denies holds for the workers that it starts', async () => {
    const { rig, agents, engine } = await family()
    const runId = await startRun(engine, 'top')
    await rig.clock.advance(3_000)
    const made = agents.thoughts.length
    const overlay = { configurable: { budget: { modelDeny: ['*'] } } }
    const branch = await branchOf(engine, { runId, fromSeq: 1, overlay })
    await rig.clock.advance(3_000)
    expect((await logOf(rig, branch)).at(-1)!.type).toBe('run.failed')
    expect(agents.thoughts).toHaveLength(made)
  })
})

describe('tools that the principal of a run may not use', () => {
  it.each([
    [['runs:create'], 'forbidden', 0],
    [['mail', 'runs:create'], 'ok', 1],
  ] as const)(
    'R-ATTEST-6 R-TOOL-4: with %j a worker that is given the scope finds it %s',
    async (scopes, status, uses) => {
      const rig = engineRig()
      const agents = agentsDouble({
        agents: { [AGENT]: { tools: [SEND] } },
        think: ({ rounds }) => ({ said: rounds.length === 0 ? wants(SEND.toolId) : answered() }),
      })
      const engine = await rig.host({ agents })
      await register(engine, handing('top', AGENT, { outputAttestation: { principalScope: ['mail'] } }))
      const runId = await startRun(engine, 'top', { scopes })
      await rig.clock.advance(2_000)
      const [child] = await rig.store.childrenOf(runId, 10)
      expect(payloadsOf(await logOf(rig, child!.runId), 'agent.toolReturned')).toMatchObject([{ status }])
      expect(agents.uses).toHaveLength(uses)
    },
  )
})

describe('what an agent brings from below', () => {
  it('R-LIVE-22 R-ATTEST-8: is attested and harvested after its invocation has ended', async () => {
    const rig = engineRig()
    const told: string[] = []
    const store = new Proxy(rig.store, {
      get: (target, name) => {
        if (name === 'commit')
          return (commit: Commit) => {
            const events = commit.streams.flatMap(({ events }) => events)
            told.push(...events.map(({ type, payload }) => (JSON.parse(payload).phase as string | undefined) ?? type))
            return target.commit(commit)
          }
        const value = Reflect.get(target, name)
        return typeof value === 'function' ? value.bind(target) : value
      },
    })
    const engine = await rig.host({ agents: agentsDouble(), store })
    const outputAttestation = { checksum: true }
    await register(engine, handing('top', AGENT, { outputMapping: { got: 'result' }, outputAttestation }))
    const runId = await startRun(engine, 'top')
    await rig.clock.advance(2_000)
    const ends = ['agent.invocation.completed', 'child.completed', 'output.harvested']
    expect(told.filter(type => ends.includes(type))).toEqual(ends)
    const harvested = payloadsOf(await logOf(rig, runId), 'core.workflowChain.event').at(-1)
    expect(harvested).toMatchObject({ phase: 'output.harvested', attestation: { algorithm: 'sha256' } })
  })
})
