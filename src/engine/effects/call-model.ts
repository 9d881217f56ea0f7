import { MOCK_PROVIDER, type ModelReply } from '../../core/invocation/brief.js'
import { exchangeText } from '../../core/invocation/exchange.js'
import type { InvocationState, RoundState, ToolResult } from '../../core/invocation/state.js'
import { toldInstead } from '../../core/invocation/withheld.js'
import type { EntryMade } from '../../core/journal/entry.js'
import { summaryOf } from '../../core/reasoning.js'
import type {
  AgentAnswer,
  BriefContents,
  ModelCallContents,
  ModelCallRequest,
  Round,
  ToolContents,
} from '../ports/agents.js'
import type { LoadedRun } from '../runtime/run-cache.js'
import type { EffectContext, EffectOf, PerformEffect } from './effect-context.js'
import { effectTrace } from './effect-trace.js'
import { ReasoningFeed } from './reasoning-feed.js'
import { answeredBefore, contentsOf, errorOf, GONE, sealedEffect } from './sealed.js'

type Thought = AgentAnswer<ModelReply, ModelCallContents>

/**
 * One call of a model. If a host died in the middle of it, the run is told so first: the call may have been billed, and
 * is only made again once that is accounted for.
 */
export const callModel: PerformEffect<'call-model'> = async (context, run, effect, signal) => {
  const { nodeId, since, ordinal, call, attempt, invocation } = effect
  const claiming = { nodeId, ordinal: `${ordinal}.${call}`, provider: invocation.brief.provider, attempt }
  let lost = false
  const feed = new ReasoningFeed(context, run.runId, effect)
  const told = await sealedEffect<ModelReply, ModelCallContents>(context, run, claiming, async (id, again, sending) => {
    if (again) {
      lost = true
      return { outcome: GONE, claim: 'leave' }
    }
    const request = await requestOf(context, run, effect, id, signal)
    if (request === undefined) return { outcome: GONE, claim: 'keep' }
    const cacheKey = context.agents.keyOf(request)
    const known = await reused(context, run, cacheKey, effect)
    if (known) return { outcome: known, claim: 'keep' }
    sending()
    const outcome = await context.agents.callModel({ ...request, onReasoning: delta => feed.take(delta) })
    const isBilled = outcome.ok || outcome.usage !== undefined
    // Nobody hears the answer to a call that was taken back, but it may have been billed.
    if (signal.aborted) return { outcome, claim: isBilled ? 'leave' : 'release' }
    // A failure that cost something is an outcome too; one that cost nothing is simply tried again.
    const claim = isBilled || !outcome.retryable ? 'keep' : 'release'
    return { outcome, claim, ...(isWorthReusing(outcome) ? { cacheKey } : {}) }
  })
  await feed.end()
  if (lost) return { input: { type: 'ModelLost', nodeId, since, call, attempt } }
  if (told === undefined || signal.aborted) return undefined
  const answer = { ...answerOf(told), ...(await exchanged(context, run, effect, told)) }
  return { input: { type: 'ModelAnswered', nodeId, since, call, answer } }
}

/** R-LIVE-8: prepared with the answer, and told by the run when the answer stands. The same again after a crash. */
async function exchanged(
  { desk, log }: EffectContext,
  { tenant, runId }: LoadedRun,
  { exchange }: EffectOf<'call-model'>,
  { id, outcome }: { readonly id: string; readonly outcome: Thought },
): Promise<{ exchange?: EntryMade }> {
  if (!exchange || !outcome.ok || outcome.told.said.kind !== 'answered') return {}
  const content = exchangeText(exchange, outcome.told.said.result)
  const entry = { space: 'memory' as const, ref: exchange.ref, content, tags: [] }
  const prepared = await desk.put({ tenant, runId, id, desk: exchange.desk }, entry)
  if (prepared.ok) return { exchange: prepared.entry }
  log.warn({ runId, reason: prepared.message }, 'an exchange of a conversation is not remembered')
  return {}
}

/** Only what another run could go on with: a refusal, or an answer that was cut off, is asked for anew. */
const isWorthReusing = (outcome: Thought): boolean =>
  outcome.ok && (outcome.told.said.kind === 'answered' || outcome.told.said.kind === 'tools')

function answerOf({ id, outcome }: { readonly id: string; readonly outcome: Thought }) {
  if (outcome.ok) return { ok: true as const, reply: outcome.told, contents: id }
  const { usage } = outcome
  return { ok: false as const, error: errorOf(outcome), ...(usage ? { usage } : {}) }
}

/** R-BUDGET-1: an answer from before is told with what it cost then. */
async function reused(
  context: EffectContext,
  { tenant }: LoadedRun,
  cacheKey: string,
  { verbosity, invocation }: EffectOf<'call-model'>,
): Promise<Thought | undefined> {
  // R-REPLAY-19
  if (!context.reuseAnswers || invocation.brief.provider === MOCK_PROVIDER) return undefined
  const known = await answeredBefore<ModelReply, ModelCallContents>(context, tenant, cacheKey)
  if (known === undefined) return undefined
  const { reasoning, ...told } = known.told
  // Whoever was answered first may have been told more of it than this run wants to hear.
  const shown = reasoning === undefined || verbosity === 'off' ? undefined : reasoning
  const heard = shown === undefined ? {} : { reasoning: verbosity === 'summary' ? summaryOf(shown) : shown }
  return { ...known, told: { ...told, ...heard, usage: { ...told.usage, cacheHit: true } } }
}

async function requestOf(
  context: EffectContext,
  run: LoadedRun,
  { invocation, role, maxOutputTokens, verbosity, nodeId, call }: EffectOf<'call-model'>,
  id: string,
  signal: AbortSignal,
): Promise<ModelCallRequest | undefined> {
  const { tenant } = run
  const { provider, model, agentId } = invocation.brief
  const brief = await contentsOf<BriefContents>(context, tenant, invocation.contents)
  const rounds = await Promise.all(invocation.rounds.map(round => roundOf(context, tenant, invocation, round)))
  if (brief === undefined || rounds.includes(undefined)) return undefined
  const said = rounds.filter(round => round !== undefined)
  const asked = { tenant, id, traceparent: effectTrace(run, id), agentId, role, nodeId, call, provider, model }
  return { ...asked, brief, rounds: said, maxOutputTokens, verbosity, signal }
}

async function roundOf(
  context: EffectContext,
  tenant: string,
  { brief }: InvocationState,
  { contents, wanted, results, correction }: RoundState,
): Promise<Round | undefined> {
  const thought = await contentsOf<ModelCallContents>(context, tenant, contents)
  if (thought === undefined) return undefined
  const told = await Promise.all(
    wanted.map(({ toolId, problem: told }, position) => {
      const isKnown = brief.tools.some(tool => tool.toolId === toolId)
      const problem = thought.calls[position]?.problem ?? told
      return isKnown ? resultOf(context, tenant, results[position], problem) : NOT_A_TOOL
    }),
  )
  if (told.includes(undefined)) return undefined
  const seen = told.filter(result => result !== undefined)
  return { thought, results: seen, ...(correction === undefined ? {} : { correction: thought.problem ?? correction }) }
}

async function resultOf(
  context: EffectContext,
  tenant: string,
  result: ToolResult | undefined,
  problem: string | undefined,
): Promise<ToolContents | undefined> {
  if (result === undefined) return NOT_CALLED
  if ('contents' in result) return contentsOf<ToolContents>(context, tenant, result.contents)
  const instead = toldInstead(result)
  if (instead !== undefined) return { text: instead, isError: true }
  if (result.code === 'forbidden') return FORBIDDEN
  return { text: `not called: the arguments do not fit the tool's input schema: ${problem ?? ''}`, isError: true }
}

const NOT_A_TOOL: ToolContents = { text: 'forbidden: there is no such tool for you, or too many calls', isError: true }
const FORBIDDEN: ToolContents = { text: 'forbidden: you may not use this tool here', isError: true }
const NOT_CALLED: ToolContents = { text: 'not called', isError: true }
