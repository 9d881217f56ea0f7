import { budgetRules } from './budget/budgets.js'
import { exhaustionRules } from './budget/exhaustion.js'
import { raiseRules } from './budget/raises.js'
import type { Rule } from './checked.js'
import { forkRules } from './fork/forks.js'
import { replayRules } from './fork/replays.js'
import { familyRules } from './handoff/family.js'
import { handoffRules } from './handoff/handoff.js'
import { harvestRules } from './handoff/harvest.js'
import { peerRules } from './handoff/peers.js'
import { workerRules } from './handoff/workers.js'
import { answeringRules } from './interrupt/answering.js'
import { askingRules } from './interrupt/asking.js'
import { tokenRules } from './interrupt/tokens.js'
import { voteRules } from './interrupt/votes.js'
import { agentRules } from './invocation/agents.js'
import { bracketRules } from './invocation/bracket.js'
import { envelopeRules } from './invocation/envelopes.js'
import { invocationOrderRules } from './invocation/invocation-order.js'
import { modelCallRules } from './invocation/model-calls.js'
import { modelNeedsRules } from './invocation/model-needs.js'
import { promptRules } from './invocation/prompt-resolution.js'
import { toolCallRules } from './invocation/tool-calls.js'
import { readRules } from './journal/reads.js'
import { retellingRules } from './journal/retellings.js'
import { standingRules } from './journal/standing.js'
import { writeRules } from './journal/writes.js'
import { effectRules } from './node/effects.js'
import { graphOrderRules } from './node/graph-order.js'
import { nodeLifecycleRules } from './node/node-lifecycle.js'
import { confidenceRules } from './orchestrator/confidence.js'
import { loopBoundRules } from './orchestrator/loop-bounds.js'
import { loopOrderRules } from './orchestrator/loop-order.js'
import { lowConfidenceRules } from './orchestrator/low-confidence.js'
import { orchestratorRules } from './orchestrator/orchestrator.js'
import { boundRules } from './run/bounds.js'
import { projectionRules } from './run/projection.js'
import { runLifecycleRules } from './run/run-lifecycle.js'
import { hashChainRules } from './storage/hash-chain.js'
import { viewRules } from './storage/views.js'
import { contentFreeRules } from './structure/content-free.js'
import { payloadRules } from './structure/payloads.js'
import { structureRules } from './structure/structure.js'
import { earlyStopRules } from './verification/early-stop.js'
import { gatedMergeRules } from './verification/gated-merges.js'
import { goalRules } from './verification/goals.js'
import { humanVerdictRules } from './verification/human-verdicts.js'
import { isolationRules } from './verification/isolation.js'
import { quorumRules } from './verification/quorum.js'
import { readerRules } from './verification/readers.js'
import { reworkRules } from './verification/rework.js'
import { verdictRules } from './verification/verdicts.js'
import { verifierRules } from './verification/verifiers.js'

/** A feature adds its rules as one file and one line here; ids are never reused. */
export const RULE_GROUPS: readonly { readonly title: string; readonly rules: readonly Rule[] }[] = [
  { title: 'Structure', rules: structureRules },
  { title: 'Life of a run', rules: runLifecycleRules },
  { title: 'Life of a node', rules: nodeLifecycleRules },
  { title: 'Order of the graph', rules: graphOrderRules },
  { title: 'Projections', rules: projectionRules },
  { title: 'Parents and children', rules: familyRules },
  { title: 'Orchestrators', rules: [...orchestratorRules, ...loopOrderRules] },
  { title: 'Handing work out', rules: [...handoffRules, ...workerRules, ...harvestRules, ...peerRules] },
  { title: 'Confidence', rules: [...confidenceRules, ...lowConfidenceRules] },
  { title: 'Agents', rules: agentRules },
  {
    title: 'Invocations',
    rules: [...bracketRules, ...invocationOrderRules, ...promptRules, ...modelCallRules, ...modelNeedsRules],
  },
  { title: 'Tools and envelopes', rules: [...toolCallRules, ...envelopeRules] },
  {
    title: 'Gates and verdicts',
    rules: [
      ...verdictRules,
      ...gatedMergeRules,
      ...quorumRules,
      ...verifierRules,
      ...earlyStopRules,
      ...isolationRules,
      ...readerRules,
      ...reworkRules,
      ...humanVerdictRules,
      ...goalRules,
    ],
  },
  { title: 'Bounds', rules: [...boundRules, ...loopBoundRules] },
  { title: 'Budgets', rules: [...budgetRules, ...exhaustionRules, ...raiseRules] },
  { title: 'Questions to people', rules: [...askingRules, ...answeringRules, ...voteRules, ...tokenRules] },
  { title: 'Forks', rules: [...forkRules, ...replayRules] },
  { title: 'Memory and workspace', rules: [...writeRules, ...readRules, ...standingRules, ...retellingRules] },
  { title: 'Effects', rules: effectRules },
  { title: 'Payloads', rules: [...payloadRules, ...contentFreeRules] },
  { title: 'Storage', rules: [...hashChainRules, ...viewRules] },
]

export const RULES: readonly Rule[] = RULE_GROUPS.flatMap(group => group.rules)
