import { agentRules } from './agents.js'
import { answeringRules } from './answering.js'
import { askingRules } from './asking.js'
import { boundRules } from './bounds.js'
import { bracketRules } from './bracket.js'
import { budgetRules } from './budgets.js'
import type { Rule } from './checked.js'
import { confidenceRules } from './confidence.js'
import { contentFreeRules } from './content-free.js'
import { effectRules } from './effects.js'
import { envelopeRules } from './envelopes.js'
import { exhaustionRules } from './exhaustion.js'
import { familyRules } from './family.js'
import { forkRules } from './forks.js'
import { gatedMergeRules } from './gated-merges.js'
import { goalRules } from './goals.js'
import { graphOrderRules } from './graph-order.js'
import { handoffRules } from './handoff.js'
import { harvestRules } from './harvest.js'
import { hashChainRules } from './hash-chain.js'
import { humanVerdictRules } from './human-verdicts.js'
import { invocationOrderRules } from './invocation-order.js'
import { isolationRules } from './isolation.js'
import { loopBoundRules } from './loop-bounds.js'
import { loopOrderRules } from './loop-order.js'
import { lowConfidenceRules } from './low-confidence.js'
import { modelCallRules } from './model-calls.js'
import { nodeLifecycleRules } from './node-lifecycle.js'
import { orchestratorRules } from './orchestrator.js'
import { viewRules } from './views.js'
import { payloadRules } from './payloads.js'
import { projectionRules } from './projection.js'
import { promptRules } from './prompt-resolution.js'
import { quorumRules } from './quorum.js'
import { replayRules } from './replays.js'
import { reworkRules } from './rework.js'
import { runLifecycleRules } from './run-lifecycle.js'
import { structureRules } from './structure.js'
import { tokenRules } from './tokens.js'
import { toolCallRules } from './tool-calls.js'
import { verdictRules } from './verdicts.js'
import { verifierRules } from './verifiers.js'
import { voteRules } from './votes.js'
import { workerRules } from './workers.js'

/** A feature adds its rules as one file and one line here; ids are never reused. */
export const RULE_GROUPS: readonly { readonly title: string; readonly rules: readonly Rule[] }[] = [
  { title: 'Structure', rules: structureRules },
  { title: 'Life of a run', rules: runLifecycleRules },
  { title: 'Life of a node', rules: nodeLifecycleRules },
  { title: 'Order of the graph', rules: graphOrderRules },
  { title: 'Projections', rules: projectionRules },
  { title: 'Parents and children', rules: familyRules },
  { title: 'Orchestrators', rules: [...orchestratorRules, ...loopOrderRules] },
  { title: 'Handing work out', rules: [...handoffRules, ...workerRules, ...harvestRules] },
  { title: 'Confidence', rules: [...confidenceRules, ...lowConfidenceRules] },
  { title: 'Agents', rules: agentRules },
  { title: 'Invocations', rules: [...bracketRules, ...invocationOrderRules, ...promptRules, ...modelCallRules] },
  { title: 'Tools and envelopes', rules: [...toolCallRules, ...envelopeRules] },
  {
    title: 'Gates and verdicts',
    rules: [
      ...verdictRules,
      ...gatedMergeRules,
      ...quorumRules,
      ...verifierRules,
      ...isolationRules,
      ...reworkRules,
      ...humanVerdictRules,
      ...goalRules,
    ],
  },
  { title: 'Bounds', rules: [...boundRules, ...loopBoundRules] },
  { title: 'Budgets', rules: [...budgetRules, ...exhaustionRules] },
  { title: 'Questions to people', rules: [...askingRules, ...answeringRules, ...voteRules, ...tokenRules] },
  { title: 'Forks', rules: [...forkRules, ...replayRules] },
  { title: 'Effects', rules: effectRules },
  { title: 'Payloads', rules: [...payloadRules, ...contentFreeRules] },
  { title: 'Storage', rules: [...hashChainRules, ...viewRules] },
]

export const RULES: readonly Rule[] = RULE_GROUPS.flatMap(group => group.rules)
