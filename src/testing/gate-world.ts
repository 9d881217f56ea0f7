import type { Json } from '../core/json.js'
import type { Effect } from '../core/run/effects.js'
import type { RunInput } from '../core/run/input.js'
import type { RunState } from '../core/run/state.js'
import { gatingIn } from '../core/run/waiting.js'
import { boundGateAt } from '../core/verification/state.js'
import type { ProbeResult } from '../core/verification/voting/judgement.js'
import { taggedSha256OfJson } from '../digest.js'
import { BRIEF, replyOf } from './agents.js'
import { blocker } from './gate-stories.js'
import { answered } from './invocations.js'
import { NOTHING_SHOWN } from './verification.js'

/** What becomes of what the world owes a gated run. */
export type Luck = {
  /** Of a verifier, for each dimension; a worker or an agent brings it back as its result. */
  readonly score: number
  readonly finds: boolean
  readonly probe: ProbeResult['outcome']
  /** No vote; no result, of a worker. */
  readonly fails: boolean
  readonly confidence?: number
}

export const GOOD: Luck = { score: 10, finds: false, probe: 'held', fails: false }

type Input = RunInput extends infer Each ? (Each extends unknown ? Omit<Each, 'now'> : never) : never

/** Runs that are started for `prefix` are named after what they were started for. */
export function outcomeOf(effect: Effect, state: RunState, luck: Luck = GOOD, prefix = 'c'): Input | undefined {
  switch (effect.kind) {
    case 'continue':
      return { type: 'Continue' }
    case 'gather-evidence': {
      const { nodeId, since, bound, attempt, round, dimensions, result } = effect
      const evidence = bound.gate.evaluation_criteria
        .filter(({ dimension }) => dimensions.includes(dimension))
        .flatMap(({ dimension, probes }) =>
          probes.map(({ probe_id: probeId }) => ({ probeId, dimension, outcome: luck.probe, evidence: [] })),
        )
      const about = {
        nodeId,
        since,
        gateId: bound.gate.gate_id,
        attempt,
        round,
        resultHash: taggedSha256OfJson(result),
      }
      return { type: 'Inspected', ...about, evidence, licence: NOTHING_SHOWN }
    }
    case 'start-child': {
      const { nodeId, since, worker, verifier } = effect
      const error = { code: 'child_refused', message: 'no child', retryable: false }
      // Every start of a worker is a child of its own, also when the node is the same.
      const childRunId = `${prefix}-${nodeId}-${state.phase === 'active' ? state.next : since}`
      const who = { nodeId, since, worker, ...(verifier ? { verifier } : {}) }
      return luck.fails && verifier
        ? { type: 'ChildRefused', ...who, error }
        : { type: 'ChildStarted', ...who, childRunId }
    }
    case 'watch-child':
      return ended(effect, state, luck)
    case 'cancel-child':
      return { ...ended(effect, state, luck), status: 'cancelled' }
    case 'prepare-agent': {
      const brief = { ...BRIEF, agentId: effect.wait.agent.agentId }
      return {
        type: 'AgentBriefed',
        nodeId: effect.nodeId,
        since: effect.since,
        answer: { ok: true, brief, contents: 'b' },
      }
    }
    case 'call-model': {
      const { nodeId, since, call } = effect
      const reply = replyOf({ said: answered({ from: since, score: luck.score }) })
      return { type: 'ModelAnswered', nodeId, since, call, answer: { ok: true, reply, contents: 't' } }
    }
    default:
      return undefined
  }
}

function ended(
  { nodeId, childRunId }: { readonly nodeId: string; readonly childRunId: string },
  state: RunState,
  { score, finds, fails, confidence }: Luck,
): Extract<Input, { type: 'ChildEnded' }> {
  const dimensions = askedAt(state, childRunId)
  const scores = Object.fromEntries(dimensions.map(dimension => [dimension, score]))
  const findings = finds ? dimensions.slice(0, 1).map(dimension => blocker(dimension)) : []
  const verification = { result: { scores, findings }, ...(confidence === undefined ? {} : { confidence }) }
  const spent = { tokens: 1, costNano: 0, toolCalls: 0, retries: 0 }
  return {
    type: 'ChildEnded',
    nodeId,
    childRunId,
    status: fails ? 'failed' : 'completed',
    variables: { x: `of ${childRunId}`, verification: verification as unknown as Json },
    hidden: [],
    spent,
  }
}

/** What the verifier of that run was asked to judge. */
const askedAt = (state: RunState, childRunId: string): readonly string[] =>
  state.phase === 'absent'
    ? []
    : state.nodes.flatMap(node => {
        const gating = gatingIn(node)
        const isHere = gating?.verifiers.some(judge => judge.is === 'running' && judge.childRunId === childRunId)
        if (!gating || !isHere) return []
        const { evaluation_criteria } = boundGateAt(state, gating.gate).gate
        return evaluation_criteria
          .filter(({ dimension, probes }) => gating.dimensions.includes(dimension) && probes.length === 0)
          .map(({ dimension }) => dimension)
      })
