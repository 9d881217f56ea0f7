import { expect, test } from 'vitest'
import { runsIn } from '../../../test/support/stored-runs.js'
import type { Brief } from '../../core/invocation/brief.js'
import type { JsonObject } from '../../core/json.js'
import type { AgentFailure, ModelCallRequest } from '../../engine/ports/agents.js'
import { agentsDouble, type Said, type Script } from '../../testing/agents.js'
import { engineRig, register, startRun } from '../../testing/engine-rig.js'
import { settled } from '../../testing/manual-clock.js'
import type { Sketch } from '../../testing/workflow.js'
import { checkLog } from '../check-log.js'
import type { CheckedRun, Finding } from '../checked.js'

/** Invocations through the real engine: what it writes is what the rules say. */

const AGENT = 'local.test.agent'
const TOOL = { toolId: 'mcp:files.read', transport: 'mcp' as const, repeat: 'safe' as const, scopes: [] }
const GUARDED = { ...TOOL, toolId: 'mcp:files.write', scopes: ['files:write'] }
const PRICE = { input: 2, output: 10 }

const answer = (result: unknown = 'done', more: object = {}): Said =>
  ({ said: { kind: 'answered', result, ...more } }) as Said
const uses = (...toolIds: readonly (string | undefined)[]): Said => ({
  said: {
    kind: 'tools',
    calls: toolIds.map(toolId => ({ argsHash: 'a'.repeat(64), ...(toolId === undefined ? {} : { toolId }) })),
  },
})
const unusable: Said = { said: { kind: 'unusable', reason: 'schema-violation', problem: 'no text' } }
const truncated: Said = { said: { kind: 'truncated', stopReason: 'max_tokens' } }

const one = (more: object = {}, config: JsonObject = {}): Sketch => ({
  id: 'w',
  nodes: { a: { type: 'core.agent', config: { agentId: AGENT, ...config }, ...more } },
})

type Story = {
  readonly workflows?: readonly Sketch[]
  readonly brief?: Partial<Brief>
  readonly think?: Script['think']
  readonly says?: readonly Said[]
  readonly use?: Script['use']
  readonly configurable?: JsonObject
  /** What happens once everything that can happen at once has happened. */
  readonly afterwards?: (told: Told) => Promise<unknown>
}
type Rigged = ReturnType<typeof engineRig>
type Told = { readonly rig: Rigged; readonly engine: Awaited<ReturnType<Rigged['host']>>; readonly runId: string }

async function tell({ workflows = [one()], brief = {}, think, says = [], use, configurable, afterwards }: Story) {
  const rig = engineRig()
  const script: Script['think'] = think ?? ((_ask, nth) => says[Math.min(nth, says.length) - 1] ?? answer())
  const agents = agentsDouble({
    agents: { [AGENT]: brief, 'host:orchestrator:sup': brief },
    think: script,
    ...(use === undefined ? {} : { use }),
  })
  const engine = await rig.host({ agents })
  await register(engine, ...workflows)
  const runId = await startRun(engine, 'w', configurable === undefined ? {} : { configurable })
  await settled()
  await afterwards?.({ rig, engine, runId })
  await settled()
  const runs = await runsIn(rig.store)
  return { runs, types: typesOf(runs), findings: findingsIn(runs) }
}

const typesOf = (runs: readonly CheckedRun[]): string[] => runs.flatMap(({ events }) => events.map(({ type }) => type))

/** As its store holds them, and as the wire shows them. */
function findingsIn(runs: readonly CheckedRun[]): Finding[] {
  const bare = runs.map(({ runId, events }) => ({
    runId,
    events: events.map(({ secret: _secret, ...event }) => event),
  }))
  return [
    ...checkLog({ runs, complete: true }),
    ...bare.flatMap(run => checkLog({ runs: [run] })),
    ...bare.flatMap(run => checkLog({ runs: [run], dialect: 'openwop' })),
  ]
}

/** A person lets the run spend more, each time it asks. */
const adding =
  (...deltas: readonly JsonObject[]) =>
  async ({ engine, runId }: Told) => {
    for (const budgetDelta of deltas) {
      const value = { action: 'accept', budgetDelta }
      const answer = await engine.command('t1', runId, { type: 'resolve', nodeId: 'a', value, by: 'ann', via: 'key' })
      expect(answer).toMatchObject({ ok: true })
      await settled()
    }
  }

const resolve =
  (action: string) =>
  ({ engine, runId }: Told) =>
    engine.command('t1', runId, { type: 'resolve', nodeId: 'a', value: { action }, by: 'ann', via: 'key' })

/** Never answers; when it is no longer wanted it says so. */
const forever = ({ signal }: ModelCallRequest) =>
  new Promise<AgentFailure>(resolve => {
    const gone = () => resolve({ ok: false, code: 'aborted', message: 'nobody waits', retryable: true })
    signal.addEventListener('abort', gone)
  })

const STORIES: { readonly [title: string]: Story & { readonly tells: readonly string[] } } = {
  'an answer at once': { tells: ['agent.decided', 'agent.invocation.completed'] },
  'tools in two rounds, one of them unknown': {
    brief: { tools: [TOOL], price: PRICE },
    says: [
      uses(TOOL.toolId, undefined, TOOL.toolId),
      uses(undefined),
      uses(TOOL.toolId),
      answer({ x: 1 }, { confidence: 0.9 }),
    ],
    tells: ['agent.toolCalled', 'agent.toolReturned'],
  },
  'a tool that is forbidden, and one that is called too often': {
    brief: { tools: [TOOL, GUARDED] },
    says: [uses(GUARDED.toolId, TOOL.toolId), answer()],
    use: () => ({ status: 'rate_limited', durationMs: 0, resultTokens: 5, code: 'rate_limited' }),
    tells: ['agent.toolReturned'],
  },
  'arguments that do not fit': {
    brief: { tools: [TOOL] },
    says: [
      { said: { kind: 'tools', calls: [{ toolId: TOOL.toolId, argsHash: 'b'.repeat(64), problem: 'no path' }] } },
      answer(),
    ],
    tells: ['agent.toolReturned'],
  },
  'reasoning in parts': {
    think: async ask => {
      ask.onReasoning?.('because ')
      await settled()
      ask.onReasoning?.('of this')
      await settled()
      return { ...answer(), reasoning: 'because of this' }
    },
    tells: ['agent.reasoned'],
  },
  'reasoning that nobody wants': { configurable: { reasoningVerbosity: 'off' }, tells: ['agent.decided'] },
  'a refusal': {
    says: [{ said: { kind: 'refused', safetyCategory: 'violence' } }],
    tells: ['envelope.refusal', 'run.failed'],
  },
  'answers that are of no use, then one that is found in the text': {
    brief: { checksResult: true },
    says: [unusable, truncated, answer({ a: 1 }, { recovery: 'markdown-fence' })],
    tells: ['envelope.retry.attempted', 'envelope.truncated', 'envelope.recovery.applied'],
  },
  'answers that are never of use': { says: [unusable], tells: ['envelope.retry.exhausted', 'node.failed'] },
  'answers that are always cut off': { says: [truncated], tells: ['envelope.retry.exhausted', 'node.failed'] },
  'a call that breaks off with costs, and one without': {
    workflows: [one({ settings: { maxRetries: 2 } })],
    brief: { price: PRICE },
    think: (_ask, nth) =>
      nth < 3
        ? {
            ok: false,
            code: 'provider_failed',
            message: 'no',
            retryable: true,
            ...(nth === 1 ? { usage: { inputTokens: 5, outputTokens: 0 } } : {}),
          }
        : answer(),
    afterwards: ({ rig }) => rig.clock.advance(60_000),
    tells: ['envelope.retry.attempted', 'node.retried', 'run.completed'],
  },
  'a task that does not fit': {
    brief: { taskProblem: 'no task' },
    tells: ['agent.invocation.completed', 'node.failed'],
  },
  'too many rounds': { brief: { tools: [TOOL], maxRounds: 2 }, says: [uses(TOOL.toolId)], tells: ['node.failed'] },
  'a hold that is accepted': {
    says: [answer('buy', { confidence: 0.3 })],
    afterwards: resolve('accept'),
    tells: ['interrupt.resolved', 'node.completed'],
  },
  'a hold by the agent’s own threshold that is refused': {
    brief: { threshold: 0.95 },
    says: [answer('buy', { confidence: 0.9 })],
    afterwards: resolve('reject'),
    tells: ['interrupt.resolved', 'node.failed'],
  },
  'a hold that nobody answers': {
    workflows: [one({}, { timeoutMs: 1_000 })],
    says: [answer('buy', { confidence: 0.3 })],
    afterwards: ({ rig }) => rig.clock.advance(5_000),
    tells: ['interrupt.resolved', 'node.failed'],
  },
  'a hold that is open when the run is cancelled': {
    says: [answer('buy', { confidence: 0.3 })],
    afterwards: ({ engine, runId }) => engine.command('t1', runId, { type: 'cancel', by: 'ann' }),
    tells: ['agent.invocation.completed', 'run.cancelled'],
  },
  'a cancellation in the middle of a call': {
    brief: { price: PRICE },
    think: forever,
    configurable: { budget: { maxTokens: 5_000, thresholdPercent: 10 } },
    afterwards: ({ engine, runId }) => engine.command('t1', runId, { type: 'cancel', by: 'ann' }),
    tells: ['assay.model.lost', 'run.cancelled'],
  },
  'a node whose time is over': {
    workflows: [one({ settings: { timeoutMs: 100 } })],
    think: forever,
    afterwards: ({ rig }) => rig.clock.advance(1_000),
    tells: ['assay.model.lost', 'node.failed'],
  },
  'a pause in the middle of a call': {
    think: (ask, nth) => (nth === 1 ? forever(ask) : answer()),
    afterwards: async ({ engine, runId }) => {
      await engine.command('t1', runId, { type: 'pause', drainPolicy: 'immediate' })
      await settled()
      await engine.command('t1', runId, { type: 'resume' })
    },
    tells: ['assay.model.lost', 'run.paused', 'run.resumed', 'run.completed'],
  },
  'a pause that waits for the call': {
    brief: { tools: [TOOL] },
    think: async (_ask, nth) => {
      if (nth > 1) return answer()
      await settled()
      await settled()
      return uses(TOOL.toolId)
    },
    afterwards: async ({ engine, runId }) => {
      await engine.command('t1', runId, { type: 'pause', drainPolicy: 'drain-current-node' })
      for (let i = 0; i < 5; i++) await settled()
      await engine.command('t1', runId, { type: 'resume' })
    },
    tells: ['run.paused', 'agent.toolCalled', 'run.completed'],
  },
  'a budget that is enough': {
    brief: { tools: [TOOL], price: PRICE },
    configurable: {
      budget: { maxTokens: 9_000, maxCostUsd: 0.5, maxToolCalls: 3, maxRetries: 3, thresholdPercent: 30 },
    },
    says: [uses(TOOL.toolId), unusable, answer()],
    tells: ['budget.reserved', 'budget.consumed', 'budget.threshold.crossed', 'run.completed'],
  },
  'a budget of tokens that is not': {
    configurable: { budget: { maxTokens: 250 } },
    brief: { tools: [TOOL] },
    says: [{ ...uses(TOOL.toolId), usage: { inputTokens: 90, outputTokens: 60 } }, answer()],
    tells: ['budget.exhausted', 'cap.breached', 'run.failed'],
  },
  'a budget of tool calls that is not': {
    configurable: { budget: { maxToolCalls: 1 } },
    brief: { tools: [TOOL] },
    says: [uses(TOOL.toolId, TOOL.toolId)],
    tells: ['budget.exhausted', 'cap.breached'],
  },
  'a budget of retries that is not': {
    configurable: { budget: { maxRetries: 1 } },
    says: [unusable],
    tells: ['budget.exhausted', 'cap.breached'],
  },
  'a budget that a person adds to': {
    configurable: { budget: { maxTokens: 250, maxToolCalls: 1, onExhaustion: 'interrupt' } },
    brief: { tools: [TOOL] },
    says: [{ ...uses(TOOL.toolId, TOOL.toolId), usage: { inputTokens: 90, outputTokens: 60 } }, answer()],
    afterwards: adding({ maxToolCalls: 2 }, { maxTokens: 900 }),
    tells: ['budget.exhausted', 'interrupt.resolved', 'budget.reserved', 'run.completed'],
  },
  'a budget that a person does not add to': {
    configurable: { budget: { maxTokens: 250, onExhaustion: 'interrupt' } },
    brief: { tools: [TOOL] },
    says: [{ ...uses(TOOL.toolId), usage: { inputTokens: 90, outputTokens: 60 } }, answer()],
    afterwards: resolve('reject'),
    tells: ['budget.exhausted', 'interrupt.resolved', 'cap.breached', 'run.failed'],
  },
  'a budget that is asked about when the run is cancelled': {
    configurable: { budget: { maxTokens: 120, onExhaustion: 'interrupt' } },
    afterwards: ({ engine, runId }) => engine.command('t1', runId, { type: 'cancel', by: 'ann' }),
    tells: ['budget.exhausted', 'interrupt.requested', 'run.cancelled'],
  },
  'two agents that one question is for': {
    workflows: [
      {
        id: 'w',
        nodes: {
          a: { type: 'core.agent', config: { agentId: AGENT } },
          b: { type: 'core.agent', config: { agentId: AGENT } },
        },
      },
    ],
    configurable: { budget: { maxRetries: 0, onExhaustion: 'interrupt' } },
    think: (_ask, nth) => (nth > 2 ? answer() : unusable),
    afterwards: adding({ maxRetries: 2 }),
    tells: ['budget.exhausted', 'node.resumed', 'run.completed'],
  },
  'two agents that share a budget, one of which uses it up': {
    workflows: [
      {
        id: 'w',
        nodes: {
          a: { type: 'core.agent', config: { agentId: AGENT } },
          b: { type: 'core.agent', config: { agentId: AGENT } },
        },
      },
    ],
    configurable: { budget: { maxTokens: 1_500 } },
    think: (ask, nth) => (nth === 1 ? forever(ask) : { ...answer(), usage: { inputTokens: 100, outputTokens: 300 } }),
    afterwards: ({ engine, runId }) => engine.command('t1', runId, { type: 'cancel', by: 'ann' }),
    tells: ['budget.reserved', 'run.cancelled'],
  },
  'a model that takes more than it was allowed': {
    configurable: { budget: { maxTokens: 1_200 } },
    says: [{ ...answer(), usage: { inputTokens: 100, outputTokens: 5_000 } }],
    tells: ['budget.exhausted', 'cap.breached', 'run.failed'],
  },
  'a model that is not allowed': {
    configurable: { budget: { maxTokens: 9_000, modelDeny: ['gpt-*'] } },
    tells: ['agent.invocation.completed', 'node.failed'],
  },
  'a supervisor that is an agent, with workers that are': {
    workflows: [
      {
        id: 'w',
        nodes: {
          sup: { type: 'core.orchestrator.supervisor', config: { prompt: 'lead them' } },
          hand: { type: 'core.dispatch', config: { outputMapping: { text: 'text' } } },
        },
        edges: ['sup > hand'],
        variables: [{ name: 'text', type: 'string' }],
      },
      { ...one({}, { resultVariable: 'text' }), id: 'child', variables: [{ name: 'text', type: 'string' }] },
    ],
    configurable: { budget: { maxTokens: 20_000, maxCostUsd: 3 } },
    brief: { price: PRICE },
    think: ask => {
      if (ask.role !== 'supervisor') return answer('well done', { confidence: 0.9 })
      const situation = JSON.parse(ask.brief.user) as { iteration: number }
      return situation.iteration === 1
        ? answer({ kind: 'next-worker', nextWorkerIds: ['child', 'child'] })
        : answer({ kind: 'terminate', confidence: 0.9 })
    },
    afterwards: ({ rig }) => rig.clock.advance(60_000),
    tells: ['runOrchestrator.decided', 'core.workflowChain.event', 'run.completed'],
  },
}

test.each(Object.entries(STORIES))('L22–L31: %s', async (_title, { tells, ...story }) => {
  const { findings, types } = await tell(story)
  expect(findings).toEqual([])
  expect(types).toEqual(expect.arrayContaining([...tells]))
})

test('L23g L23m: a call that died with its host is held in full and made again', async () => {
  const rig = engineRig()
  const agents = { [AGENT]: { price: PRICE } }
  const first = await rig.host({ hostName: 'one', agents: agentsDouble({ agents, think: forever }) })
  await register(first, one())
  const runId = await startRun(first, 'w', { configurable: { budget: { maxTokens: 5_000 } } })
  await settled()
  // The first host is gone as if its process had died: it never hears of the answer, and its lease runs out.
  rig.clock.skip(60_000)
  const second = await rig.host({ hostName: 'two', agents: agentsDouble({ agents }) })
  await rig.clock.advance(5_000)
  expect((await second.inspect('t1', runId))?.status).toBe('completed')
  const runs = await runsIn(rig.store)
  expect(findingsIn(runs)).toEqual([])
  expect(typesOf(runs)).toContain('assay.model.lost')
})

test('L29, R-LIVE-18: every replay and branch of an invocation', async () => {
  const rig = engineRig()
  const think: Script['think'] = (_ask, nth) => (nth % 2 === 1 ? uses(TOOL.toolId) : answer())
  const engine = await rig.host({
    agents: agentsDouble({ agents: { [AGENT]: { tools: [TOOL], price: PRICE } }, think }),
  })
  await register(engine, one())
  const runId = await startRun(engine, 'w', { configurable: { budget: { maxTokens: 9_000, maxToolCalls: 4 } } })
  await settled()
  const { length } = await rig.store.readEvents(runId, 0)
  for (let fromSeq = 0; fromSeq <= length; fromSeq += 1)
    for (const mode of ['replay', 'branch'] as const) await engine.fork({ tenant: 't1', runId, mode, fromSeq })
  const overlay = { configurable: { budget: { maxTokens: 20, thresholdPercent: 10 } } }
  await engine.fork({ tenant: 't1', runId, mode: 'branch', fromSeq: length - 6, overlay })
  await settled()
  await rig.clock.advance(1_000)
  const runs = await runsIn(rig.store)
  expect(runs.length).toBeGreaterThan(length)
  expect(checkLog({ runs, complete: true })).toEqual([])
})
