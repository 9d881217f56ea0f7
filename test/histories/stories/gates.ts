import type { BoundGate } from '../../../src/core/verification/gate.js'
import type { AgentFailure, ModelCallRequest } from '../../../src/engine/ports/agents.js'
import { agentsDouble, type Said } from '../../../src/testing/agents.js'
import { boundGate } from '../../../src/testing/gates.js'
import { loopOf, next, terminate } from '../../../src/testing/orchestration.js'
import { inspectorDouble, standardsDouble } from '../../../src/testing/verification.js'
import type { Sketch } from '../../../src/testing/workflow.js'
import { rigWorld, start, untilOver } from '../world.js'
import { performers, register } from './doubles.js'
import type { Story } from './index.js'

const WRITER = 'local.writer'
const JUDGES = ['assay.verifier', 'local.one', 'local.two', 'local.three']
const TEXT = [{ name: 'text', type: 'string' as const }]

const agentAt = (id: string): Sketch => ({
  id,
  nodes: { a: { type: 'core.agent', config: { agentId: WRITER, resultVariable: 'text' } } },
  variables: TEXT,
})

const handingOut = (id: string, turns = 1): Sketch =>
  loopOf(
    {
      rules: [{ when: `iteration <= ${turns}`, decide: next('writer') }, { decide: terminate }],
    },
    { id, dispatch: { outputMapping: { text: 'text' } }, variables: TEXT },
  )

const scores = (given: { readonly [dimension: string]: number }): Said => ({
  said: {
    kind: 'answered',
    result: {
      scores: given,
      findings: Object.entries(given).flatMap(([dimension, value]) =>
        value >= 7
          ? []
          : [
              {
                dimension,
                classification: 'blocking',
                description: 'It does not say why.',
                evidence: [{ evidence_type: 'line_reference', ref: '/text:1', detail: 'text' }],
              },
            ],
      ),
    },
    confidence: 0.8,
  },
})

const score = (correctness: number): Said => scores({ correctness })

const NO_VOTE: AgentFailure = { ok: false, code: 'provider_failed', message: 'no', retryable: false }

type Case = {
  readonly workflow: Sketch
  readonly gate: NonNullable<Parameters<typeof boundGate>[0]>
  /** What verifiers say one after the other; the last again and again. */
  readonly votes: readonly (Said | AgentFailure)[]
}

const at = (
  workflow_id: string,
  phase_id = 'a',
  placement: 'phase_exit' | 'workflow_exit' | 'checkpoint' = 'phase_exit',
) => ({
  position: { workflow_id, phase_id, placement },
})

const probe = { probe_id: 'p1', type: 'regex' as const, pattern: 'text', absent: false }

const CASES: readonly Case[] = [
  { workflow: agentAt('reworked'), gate: at('reworked'), votes: [score(3), score(9)] },
  { workflow: agentAt('rejected'), gate: at('rejected'), votes: [score(3)] },
  {
    workflow: agentAt('forced'),
    gate: { ...at('forced'), behaviour: { on_fail: 'conditional_pass' } },
    votes: [score(3)],
  },
  {
    workflow: agentAt('escalated'),
    gate: { ...at('escalated'), behaviour: { on_fail: 'escalate' } },
    votes: [score(3)],
  },
  { workflow: agentAt('held'), gate: at('held'), votes: [NO_VOTE, score(9)] },
  {
    workflow: agentAt('licensed'),
    gate: { ...at('licensed'), behaviour: { auto_commit: 'licensed' } },
    votes: [score(9)],
  },
  {
    workflow: agentAt('probed'),
    gate: { ...at('probed'), criteria: [{ dimension: 'correctness' }, { dimension: 'form', probes: [probe] }] },
    votes: [score(9)],
  },
  {
    workflow: agentAt('counted'),
    gate: { ...at('counted'), verifiers: JUDGES.slice(1).map(agent_id => ({ agent_id })), quorum: { min_agree: 2 } },
    votes: [score(9), score(3), score(9)],
  },
  {
    workflow: agentAt('watched'),
    gate: { ...at('watched', 'a', 'checkpoint'), behaviour: { blocking: false } },
    votes: [score(3)],
  },
  { workflow: agentAt('left'), gate: at('left', 'a', 'workflow_exit'), votes: [score(3), score(9)] },
  { workflow: handingOut('withheld'), gate: at('withheld', 'dispatch'), votes: [score(3)] },
  {
    workflow: handingOut('sent-back', 2),
    gate: { ...at('sent-back', 'dispatch'), behaviour: { rework: 'supervisor' } },
    votes: [score(3), score(9)],
  },
  { workflow: handingOut('merged'), gate: at('merged', 'dispatch'), votes: [score(3), score(9)] },
  // Sent back for one of two dimensions; the other is judged again before the result is merged.
  {
    workflow: agentAt('confirmed'),
    gate: { ...at('confirmed'), criteria: [{ dimension: 'correctness' }, { dimension: 'style' }] },
    votes: [scores({ correctness: 9, style: 3 }), scores({ style: 9 }), scores({ correctness: 9 })],
  },
]

const idOf = ({ workflow }: Case): string => workflow.id!

/** The criterion's description says which case it is: that is all a verifier of these stories looks at. */
const boundTo = (one: Case): BoundGate => {
  const { criteria = [{ dimension: 'correctness' }], ...gate } = one.gate
  const named = criteria.map(criterion => ({ ...criterion, description: `case ${idOf(one)}` }))
  return { ...boundGate({ gate_id: `gate-${idOf(one)}`, ...gate, criteria: named }), hash: 'a'.repeat(64) }
}

function voters() {
  const given = new Map<string, number>()
  return ({ role, brief }: ModelCallRequest): Said | AgentFailure => {
    if (role !== 'verifier') return { said: { kind: 'answered', result: 'some text', confidence: 0.9 } }
    const one = CASES.find(one => brief.user.includes(`"case ${idOf(one)}"`))!
    const nth = (given.get(idOf(one)) ?? 0) + 1
    given.set(idOf(one), nth)
    return one.votes[Math.min(nth, one.votes.length) - 1]!
  }
}

const inspector = inspectorDouble(async ({ bound, dimensions }) =>
  bound.gate.evaluation_criteria
    .filter(({ dimension }) => dimensions.includes(dimension))
    .flatMap(({ dimension, probes }) =>
      probes.map(({ probe_id: probeId }) => ({ probeId, dimension, outcome: 'held' as const, evidence: [] })),
    ),
)

/** Every end that a gate knows, at an agent's node, at a worker's merge and at the exit of a workflow. */
export const gates: Story = {
  open: rigWorld(() => ({
    performers: performers(),
    agents: agentsDouble({
      agents: Object.fromEntries([WRITER, ...JUDGES].map(agentId => [agentId, {}])),
      think: voters(),
    }),
    standards: standardsDouble(Object.fromEntries(CASES.map(one => [idOf(one), [boundTo(one)]]))),
    inspector,
  })),
  async tell(world) {
    await register(world, agentAt('writer'), ...CASES.map(({ workflow }) => workflow))
    for (const one of CASES) {
      await start(world, idOf(one))
      await untilOver(world)
    }
  },
}
