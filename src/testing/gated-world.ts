import type { Json, JsonObject } from '../core/json.js'
import type { Effect } from '../core/run/effects.js'
import type { RunInput } from '../core/run/input.js'
import type { Active } from '../core/run/state.js'
import { gatingIn, questionOf } from '../core/run/waiting.js'
import { askedOf } from '../core/verification/evidence.js'
import { HOST_VERIFIER } from '../core/verification/gate.js'
import { boundGateAt } from '../core/verification/state.js'
import { judgeOf } from '../core/verification/voting/licence.js'
import type { Plan } from '../core/workflow/plan.js'
import { taggedSha256OfJson } from '../digest.js'
import { type Choose, chance, pick } from '../log-check/testing/choice.js'
import { BRIEF, replyOf } from './agents.js'
import { GATED_TOOL } from './gated-stories.js'
import { tool, wants } from './invocations.js'
import { answer } from './orchestration.js'
import { NOTHING_SHOWN } from './verification.js'

/** What the world around a gated run may say next. */

export type Happening = RunInput extends infer Each ? (Each extends unknown ? Omit<Each, 'now'> : never) : never

export const answersTo = (plan: Plan, state: Active, owed: readonly Effect[], choose: Choose): Happening[] => [
  ...owed.flatMap(effect => performed(state, effect, owed, choose) ?? []),
  ...state.open.flatMap(index => resolved(plan, state, index, choose) ?? []),
]

function performed(state: Active, effect: Effect, owed: readonly Effect[], choose: Choose): Happening | undefined {
  switch (effect.kind) {
    case 'continue':
      return { type: 'Continue' }
    case 'start-child':
      return started(state, effect, choose)
    case 'watch-child':
      return ended(state, effect, owed, choose)
    case 'gather-evidence':
      return inspected(effect, choose)
    case 'prepare-agent': {
      const { nodeId, since, wait } = effect
      const { threshold } = pick(choose, [{ threshold: undefined }, { threshold: 0.8 }])
      const tools = [tool(GATED_TOOL), tool(OTHER_TOOL)]
      const brief = { ...BRIEF, tools, agentId: wait.agent.agentId, ...(threshold === undefined ? {} : { threshold }) }
      return { type: 'AgentBriefed', nodeId, since, answer: { ok: true, brief, contents: `brief-${since}` } }
    }
    case 'call-model': {
      const { nodeId, since, call } = effect
      if (chance(choose, 12)) {
        const error = { code: 'provider_failed', message: 'no', retryable: chance(choose, 2) }
        return { type: 'ModelAnswered', nodeId, since, call, answer: { ok: false, error } }
      }
      const confidence = pick(choose, [undefined, 0.9, 0.3])
      const answered = {
        kind: 'answered' as const,
        result: anyText(choose),
        ...(confidence === undefined ? {} : { confidence }),
      }
      const said = call < 3 && chance(choose, 2) ? wants(...pick(choose, CALLS)) : answered
      const reply = replyOf({ said })
      return {
        type: 'ModelAnswered',
        nodeId,
        since,
        call,
        answer: { ok: true, reply, contents: `thought-${since}-${call}` },
      }
    }
    case 'call-tool':
      return used(effect, choose)
    default:
      return undefined
  }
}

const OTHER_TOOL = 'mcp:weather.then'
const CALLS = [[GATED_TOOL], [GATED_TOOL, OTHER_TOOL], [GATED_TOOL, GATED_TOOL], [OTHER_TOOL]]

function used(effect: Extract<Effect, { kind: 'call-tool' }>, choose: Choose): Happening {
  const { nodeId, since, call, position, gated } = effect
  const isWell = !chance(choose, 6)
  const reply = { ...(isWell ? { status: 'ok' as const } : FAILED), durationMs: 5, resultTokens: 20 }
  const answer = { ok: true as const, reply, contents: `result-${since}-${call}-${position}` }
  const judged = gated && isWell ? { result: { weather: anyText(choose) } } : {}
  return { type: 'ToolAnswered', nodeId, since, call, position, answer: { ...answer, ...judged } }
}

const FAILED = { status: 'error' as const, code: 'tool_failed' }

const anyText = (choose: Choose): string => pick(choose, ['rain', 'sun', 'snow'])

function started(state: Active, effect: Extract<Effect, { kind: 'start-child' }>, choose: Choose): Happening {
  const { nodeId, since, worker, verifier } = effect
  const place = { nodeId, since, worker, ...(verifier ? { verifier } : {}) }
  if (chance(choose, 10))
    return { type: 'ChildRefused', ...place, error: { code: 'unknown_agent', message: 'no such agent' } }
  return { type: 'ChildStarted', ...place, childRunId: `${state.runId}-child-${state.next}` }
}

const SPENT = { tokens: 120, costNano: 0, toolCalls: 0, retries: 0 }

function ended(
  state: Active,
  { nodeId, childRunId, wanted }: Extract<Effect, { kind: 'watch-child' }>,
  owed: readonly Effect[],
  choose: Choose,
): Happening {
  const isCalledBack = owed.some(effect => effect.kind === 'cancel-child' && effect.childRunId === childRunId)
  const told = { type: 'ChildEnded' as const, nodeId, childRunId, hidden: [], spent: SPENT }
  if (isCalledBack && !chance(choose, 4)) return { ...told, status: 'cancelled', variables: {} }
  if (chance(choose, 7))
    return { ...told, status: 'failed', variables: {}, error: { code: 'provider_failed', message: 'no' } }
  if (!wanted.includes('verification'))
    return {
      ...told,
      status: 'completed',
      variables: wanted.length === 0 ? {} : { text: anyText(choose) },
      ...(chance(choose, 8) ? { goalSatisfied: false } : {}),
    }
  return { ...told, status: 'completed', variables: { verification: opinion(choose, askedOfRun(state, childRunId)) } }
}

/** What the verifier whose run that is was asked to score. */
const askedOfRun = (state: Active, childRunId: string): readonly string[] =>
  state.nodes.flatMap(node => {
    const gating = gatingIn(node)
    const isIts = gating?.verifiers.some(judge => judge.is === 'running' && judge.childRunId === childRunId)
    return gating && isIts ? askedOf(boundGateAt(state, gating.gate).gate, gating.dimensions) : []
  })

/** What a verifier is asked; now and then it answers something else, and that is no vote. */
function opinion(choose: Choose, asked: readonly string[]): JsonObject {
  const dimensions = chance(choose, 8) ? ['tone'] : asked
  const scores = Object.fromEntries(dimensions.map(dimension => [dimension, pick(choose, [9, 9, 8, 3])]))
  const classification = pick(choose, ['blocking', 'warning', 'advisory', undefined, undefined, undefined])
  const confidence = pick(choose, [undefined, 0.9, 0.4])
  const found = classification === undefined ? [] : [{ ...FINDING, classification }]
  // Most say why they score below the threshold; who does not gives no vote.
  const why = chance(choose, 8) ? [] : Object.keys(scores).map(dimension => ({ ...FINDING, dimension }))
  const findings = [...found, ...why.map(finding => ({ ...finding, classification: 'advisory' }))]
  return { result: { scores, findings }, ...(confidence === undefined ? {} : { confidence }) }
}

const FINDING = {
  dimension: 'correctness',
  description: 'It does not say why.',
  evidence: [{ evidence_type: 'line_reference', ref: '/text:1', detail: 'rain' }],
}

const SHOWN = { n: 40, lower: 0.95 }

function inspected(effect: Extract<Effect, { kind: 'gather-evidence' }>, choose: Choose): Happening {
  const { nodeId, since, bound, attempt, round, dimensions, result } = effect
  const probes = bound.gate.evaluation_criteria
    .filter(({ dimension }) => dimensions.includes(dimension))
    .flatMap(({ dimension, probes }) => probes.map(({ probe_id }) => ({ dimension, probeId: probe_id })))
  const evidence = probes.map(probe => ({
    ...probe,
    outcome: pick(choose, ['held', 'held', 'failed', 'unavailable'] as const),
    evidence: [],
  }))
  const licence = pick(choose, [
    NOTHING_SHOWN,
    { badStopped: SHOWN, goodPassed: SHOWN, judges: { [HOST_VERIFIER]: judgeOf({}) } },
  ])
  const gateId = bound.gate.gate_id
  return {
    type: 'Inspected',
    nodeId,
    since,
    gateId,
    attempt,
    round,
    resultHash: taggedSha256OfJson(result),
    evidence,
    licence,
  }
}

function resolved(plan: Plan, state: Active, index: number, choose: Choose): Happening | undefined {
  const asked = questionOf(state.nodes[index])
  if (!asked) return undefined
  const { kind, data } = asked
  const actions = Array.isArray(data.actions) ? (data.actions as string[]) : ['accept', 'reject', 'edit-accept']
  const action = pick(choose, actions)
  const edited: Json = kind === 'low-confidence' ? 'mended' : { text: 'mended' }
  const value = {
    action,
    ...(action === 'edit-accept' ? { editedArtifactData: edited } : {}),
    ...(action === 'refine' ? { refineFeedback: 'say why' } : {}),
  }
  return answer(plan.nodes[index]!.node.id, value) as Happening
}
