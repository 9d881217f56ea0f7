import { BUDGET_DIMENSIONS } from '../../core/budget/budget.js'
import { OFFERED_MODES } from '../../core/goal/goal.js'
import { SUMMARY_TOKENS } from '../../core/reasoning.js'
import type { HttpConfig } from '../config.js'

/** What discovery claims of agents, models, tools and spending (contract agents §2). */
export const agentFamilies = (config: HttpConfig, hasAgents: boolean): object => ({
  agents: {
    ...AGENTS,
    ...(hasAgents && MANIFEST_AGENTS),
    ...(config.memory.enabled && LONG_TERM),
    ...(config.goals.enabled && GOALS),
  },
  toolHooks: { supported: true, prePostEvents: true, perToolAuthorization: true, perToolRateLimit: true },
  toolCatalog: { supported: true, sources: ['mcp', 'host-extension'] },
  providerUsage: { supported: true, costEstimates: config.agents.priced, currency: 'USD' },
  budget: {
    supported: true,
    dimensions: [...BUDGET_DIMENSIONS, 'model'],
    enforce: 'hard',
    scopes: ['run', 'project'],
  },
  prompts: {
    supported: true,
    endpointsSupported: false,
    templateKinds: ['system', 'user', 'few-shot', 'schema-hint'],
    variableSources: ['input', 'variable', 'context'],
    observability: 'hashed',
    agentBindings: true,
  },
  envelopes: {
    reliability: {
      supported: true,
      events: [
        'envelope.retry.attempted',
        'envelope.retry.exhausted',
        'envelope.refusal',
        'envelope.truncated',
        'envelope.recovery.applied',
      ],
      maxRetryAttempts: config.agents.maxRetries + 1,
      completion: { distinguishesTruncation: true, truncationBudgetMultiplier: 2 },
    },
  },
  // R-ENV-4: of the model that agents use where nobody says otherwise.
  modelCapabilities: { supported: true, advertised: config.agents.capabilities, substitutionSupported: true },
  // Keys are the operator's; no run brings one.
  aiProviders: { supported: config.agents.providers, byok: [] },
})

const AGENTS = {
  supported: true,
  orchestratorPattern: 'delegate',
  orchestrator: true,
  dispatch: true,
  dispatchMapping: true,
  subRunAttestation: true,
  reasoning: { verbosity: 'summary', tokenLimit: SUMMARY_TOKENS, streaming: true },
}

/** R-CAP-12: this host judges by verifiers, which `multiAgent.executionModel.verifier` says. R-GOAL-4: a goal without a bound is none. */
const GOALS = { goals: { judge: 'verifier', continuation: OFFERED_MODES, requiresBounds: true } }

/** R-CAP-11, R-MEM-16: what is consolidated is long-term memory, and secrets are taken out of all of it. */
const LONG_TERM = {
  commitments: { supported: true, fireConditions: ['time', 'predicate'] },
  memoryBackends: ['long-term'],
  memoryConsolidation: { supported: true, schedule: 'on-demand' },
}

/** R-MANIF-1, R-CAP-10: a host that claims the floor lists at least one agent. */
const MANIFEST_AGENTS = {
  manifestRuntime: { supported: true, handoffValidation: true, installScope: 'host' },
  liveRuntime: {
    supported: true,
    structuredOutput: true,
    confidenceEscalation: true,
    sources: ['workflow-node', 'run-api', 'chat-mention'],
  },
}
