import { describe, expect, it } from 'vitest'
import { given, type Scenario } from '../../testing/given-when-then.js'
import {
  agentFlow,
  agentNode,
  answered,
  atWork,
  breaks,
  briefs,
  loses,
  reasons,
  returns,
  says,
  tool,
  toolFails,
  wants,
} from '../../testing/invocations.js'
import { answer, begins, ends, loopOf, next, scripted, terminate } from '../../testing/orchestration.js'
import { sameEvent } from '../replay/compare.js'
import { Replay } from '../replay/decide.js'
import type { Fork } from '../replay/events.js'
import { branchOff, inherited } from '../replay/fork.js'
import type { Recorded } from '../run/events.js'
import { runDecider } from '../run/run-decider.js'

const READ = tool('mcp:files.read')
const SEND = tool('http:mail.send', { repeat: 'never', scopes: ['mail'] })
const PRICE = { input: 2.5, output: 10 }
const UNUSABLE = { kind: 'unusable', reason: 'schema-violation', problem: 'p' } as const
const CUT = { kind: 'truncated', stopReason: 'length' } as const
const BUDGET = { budget: { maxTokens: 50_000, maxCostUsd: 1, maxToolCalls: 9, maxRetries: 9, thresholdPercent: 1 } }
const NOW = { type: 'PauseRun', drainPolicy: 'immediate' } as const
const DRAINED = { type: 'PauseRun', drainPolicy: 'drain-current-node' } as const
const RESUME = { type: 'ResumeRun' } as const

const one = (node = {}, configurable = {}) =>
  atWork(given(agentFlow(node)), { tools: [READ, SEND], price: PRICE }, configurable)

/** Invocations of every shape, told to their end. */
const STORIES: { readonly [name: string]: () => Scenario } = {
  'that answers': () => says(one(), answered({ x: 1 }, 0.9)),
  'that reasons and uses tools': () => {
    const run = one({}, BUDGET)
    reasons(reasons(run, 0), 1)
    says(run, { said: wants(READ.toolId, 'x:foreign', SEND.toolId, READ.toolId), reasoning: 'all', retries: 1 })
    returns(run, { durationMs: 123 })
    run.now += 10
    returns(run, { status: 'error', code: 'tool_error' })
    return says(run, answered())
  },
  'that keeps artifacts': () => {
    const run = says(one({}, BUDGET), wants(READ.toolId, READ.toolId))
    returns(returns(run, { artifact: { artifactType: 'note', content: { n: 1 } } }), {
      artifact: { artifactType: 'note', content: 'two' },
    })
    return says(run, answered())
  },
  'that is corrected, cut off and refused': () => says(says(says(one({}, BUDGET), UNUSABLE), CUT), { kind: 'refused' }),
  'that breaks off': () => {
    const run = breaks(one({ settings: { maxRetries: 2, retryDelayMs: 10 } }, BUDGET), {
      usage: { inputTokens: 5, outputTokens: 5 },
    })
    returns(says(run, wants(READ.toolId)))
    breaks(run)
    briefs(run.after(10), { tools: [READ, SEND], price: PRICE })
    breaks(run, { usage: { inputTokens: 5, outputTokens: 5 } })
    returns(says(run, wants(READ.toolId)))
    return says(run, answered())
  },
  'whose host dies': () => {
    const run = one({}, BUDGET)
    reasons(run, 0)
    loses(run)
    reasons(run, 0)
    return says(run, answered())
  },
  'whose tool is not known to have done anything': () =>
    toolFails(says(one(), wants(READ.toolId)), 'effect_outcome_unknown'),
  'that is held and accepted': () => says(one(), answered('x', 0.1)).when(answer('a', { action: 'accept' })),
  'that is held and edited': () =>
    says(one(), answered('x', 0.1)).when(answer('a', { action: 'edit-accept', editedArtifactData: 'y' })),
  'that is held and rejected': () => says(one(), answered('x', 0.1)).when(answer('a', { action: 'reject' })),
  'that is held and forgotten': () => says(one({ config: { timeoutMs: 50 } }), answered('x', 0.1)).after(50),
  'that is paused at once, twice': () => {
    const run = one({}, BUDGET).when(NOW).when(RESUME)
    says(run, wants(READ.toolId)).when(NOW)
    run.now += 100
    return says(returns(run.when(RESUME)), answered())
  },
  'that is drained': () => {
    const run = says(one().when(DRAINED), wants(READ.toolId)).when(RESUME)
    return says(returns(run), answered())
  },
  'whose time is over': () => one({ settings: { timeoutMs: 50 } }, BUDGET).after(51),
  'whose task does not fit': () => briefs(given(agentFlow()).start(), { taskProblem: 'no' }),
  'that exhausts its budget': () => loses(one({}, { budget: { maxTokens: 1_200, maxCostUsd: 5 } })),
  'that asks for more, is given some, asks again and is refused': () => {
    const run = one({}, { budget: { maxTokens: 1_200, onExhaustion: 'interrupt' } })
    says(run, { said: wants(READ.toolId), usage: { inputTokens: 100, outputTokens: 900 } })
    returns(run)
    run.now += 77
    run.when(answer('a', { action: 'accept', budgetDelta: { maxTokens: 500 } }))
    says(run, { said: wants(READ.toolId), usage: { inputTokens: 100, outputTokens: 400 } })
    return returns(run).when(answer('a', { action: 'reject' }))
  },
  'that takes more than there is, and is given it': () => {
    const run = one({}, { budget: { maxTokens: 1_200, onExhaustion: 'interrupt' } })
    says(run, { said: answered('dear'), usage: { inputTokens: 100, outputTokens: 5_000 } })
    return run.when(answer('a', { action: 'accept', budgetDelta: { maxTokens: 9_000 } }))
  },
  'that asks for retries beside another that waits for them': () => {
    const again = agentNode({ settings: { maxRetries: 1, retryDelayMs: 5 } })
    const run = given({ nodes: { f: 'core.parallel', a: again, b: again }, edges: ['f > a', 'f > b'] })
    run.start({}, { budget: { maxRetries: 0, onExhaustion: 'interrupt' } })
    briefs(briefs(run), {}, 'b')
    says(breaks(run, {}, 'b'), UNUSABLE)
    run.now += 40
    run.when(answer('b', { action: 'accept', budgetDelta: { maxRetries: 1 } }))
    run.when(answer('a', { action: 'accept', budgetDelta: { maxRetries: 1 } }))
    says(briefs(says(run, answered()).after(5), {}, 'b'), answered(), 'b')
    return run
  },
  'beside another, one waiting for the other': () => {
    const run = given({ nodes: { f: 'core.parallel', a: agentNode(), b: agentNode() }, edges: ['f > a', 'f > b'] })
    run.start({}, { budget: { maxTokens: 1_150 } })
    briefs(briefs(run), {}, 'b')
    return says(says(run, answered()), answered(), 'b')
  },
  'that leads': () => {
    const run = given(loopOf({ prompt: 'lead' })).start({}, BUDGET)
    briefs(run, { price: PRICE }, 'sup')
    says(run, answered(next('w'), 0.6), 'sup')
    begins(run, 'child-0')
    ends(run, 'child-0', {}, { spent: { tokens: 5, costNano: 6, toolCalls: 1, retries: 0 } } as never)
    briefs(run, { price: PRICE }, 'sup')
    return says(run, answered(terminate), 'sup')
  },
  'with workers that were granted some': () => {
    const run = given(scripted([next('x', 'y'), terminate], { dispatch: { fanOutPolicy: 'parallel' } }))
    run.start({}, BUDGET)
    begins(begins(run, 'child-0'), 'child-1', { worker: 1 })
    const spent = { tokens: 5, costNano: 6, toolCalls: 1, retries: 0 }
    ends(run, 'child-0', {}, { spent } as never)
    return ends(run, 'child-1', {}, { spent } as never)
  },
}

function replayed(run: Scenario, fromSeq: number): readonly Recorded[] {
  const fork: Fork = { sourceRunId: 'run-1', fromSeq, mode: 'replay', sourceLength: run.log.length }
  const replay = new Replay(run.rules, { phase: 'absent', fork }, fork, 'run-2', run.log)
  const told: Recorded[] = run.log.slice(0, fromSeq)
  for (let events = replay.next(); events !== undefined; events = replay.next()) told.push(...events)
  return told
}

/** What of an event must be the same, word for word, in every telling. */
const said = ({ sequence, type, nodeId, payload, secret, cause }: Recorded) =>
  JSON.stringify({ sequence, type, nodeId, payload, secret, cause }).replaceAll('run-2', 'run-1')

describe.each(Object.entries(STORIES))('an agent %s', (_name, tell) => {
  it('has come to its end', () => {
    expect(tell().state.phase).toBe('ended')
  })

  it('R-REPLAY-11 R-REPLAY-12 R-LIVE-18 R-TOOL-7 R-EVENT-7 R-BUDGET-1: told again from any of its events, says the same', () => {
    const run = tell()
    const own = run.log.map(said)
    for (let fromSeq = 0; fromSeq <= run.log.length; fromSeq += 1) {
      const again = replayed(run, fromSeq)
      expect(again.map(said).slice(1), `from ${fromSeq}`).toEqual(own.slice(1))
      expect(sameEvent(again[0]!, run.log[0]!)).toBe(true)
    }
  })

  it('R-REPLAY-11: its log is enough: folded at any point, the next decision is the same', () => {
    const run = tell()
    const decider = runDecider(run.rules)
    let state = decider.initial
    for (const event of run.log) {
      state = JSON.parse(JSON.stringify(decider.evolve(state, event)))
      expect(() => decider.pending(state)).not.toThrow()
    }
    expect(state).toEqual(JSON.parse(JSON.stringify(run.state)))
  })

  it('R-REPLAY-11: a branch from any of its events goes on, and tells nothing of the agent twice', () => {
    const run = tell()
    for (let fromSeq = 1; fromSeq < run.log.length; fromSeq += 1) {
      const fork: Fork = { sourceRunId: 'run-1', fromSeq, mode: 'branch', sourceLength: run.log.length }
      const shared = run.log.slice(0, fromSeq)
      const base = inherited({ phase: 'absent' }, 'run-3', fork)
      const decision = branchOff(run.rules, base, 'run-3', shared, {}, run.now)
      if (!decision.ok) throw new Error('a branch is never refused')
      const log = [...shared, ...decision.events]
      expect(log.map(({ sequence }) => sequence)).toEqual(log.map((_, i) => i))
      for (const nodeId of ['a', 'b', 'sup'])
        expect(brokenBracket(log, nodeId), `${nodeId} from ${fromSeq}`).toEqual([])
    }
  })
})

/** R-LIVE-16: what of an agent is told outside its bracket, or twice within it. */
function brokenBracket(log: readonly Recorded[], nodeId: string): string[] {
  const problems: string[] = []
  let open = false
  let thinking = false
  for (const event of log) {
    if (event.nodeId !== nodeId) continue
    const isStart = event.type === 'agent.invocation.started'
    if (isStart === open && event.type.startsWith('agent.')) problems.push(`${event.sequence} ${event.type}`)
    if (isStart) open = true
    if (event.type === 'agent.invocation.completed') open = false
    if (event.type === 'assay.model.requested') {
      if (thinking) problems.push(`${event.sequence} asked twice`)
      thinking = true
    }
    if (event.type === 'provider.usage' || event.type === 'assay.model.lost') thinking = false
  }
  return problems
}
