import { hash } from 'node:crypto'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { type AgentHouse, createAgents } from '../../../src/agents/agents.js'
import type { Json, JsonObject } from '../../../src/core/json.js'
import type { RunState } from '../../../src/core/run/state.js'
import type { Bundle } from '../../../src/core/verification/bundle.js'
import { createEgress } from '../../../src/egress/egress.js'
import type { Engine } from '../../../src/engine/runtime/engine.js'
import { createSecrets } from '../../../src/secrets/secrets.js'
import { systemClock, systemRandom } from '../../../src/system.js'
import { engineRig, type Rig, startRun } from '../../../src/testing/engine-rig.js'
import { createSchemaChecker } from '../../../src/user-schema/schema-checker.js'
import { SETTINGS } from '../models/rig.js'
import { until } from '../webhooks/until.js'

/** Verifiers as the host has them, with the offline model in place of a provider. */
export type VerifierRig = {
  readonly house: AgentHouse
  readonly engine: Engine
  readonly store: Rig['store']
  /** What the offline model says from now on. */
  script(entries: readonly object[]): void
  /** A run of the host's own workflow for verifiers, as a gate would start it. */
  verify(given?: { readonly agentId?: string; readonly bundle?: Partial<Bundle> }): Promise<Verified>
  close(): Promise<void>
}

export type Verified = { readonly state: RunState; readonly log: string }

/** The canary of every verifier: the tests must know what a model that obeys would say. */
const DRAWN = 'Canary-0f3b9c7d2e8a4b61'
/** What the host makes of it. */
export const CANARY = hash('sha256', DRAWN, 'hex').slice(0, 32)
export const CRITIC = 'local.judges.critic'

/** An agent with everything that a verifier must not get from it. */
const CRITIC_MANIFEST = {
  agentId: CRITIC,
  persona: 'Critic',
  modelClass: 'writing',
  systemPrompt: 'Mind the commas.',
  toolAllowlist: ['assay:artifact.create', 'assay:http.get'],
  memoryShape: { scratchpad: true, conversation: true },
  confidence: { defaultThreshold: 0.99 },
  handoff: { taskSchemaRef: 'schemas/never.json', returnSchemaRef: 'schemas/never.json' },
}

/** What a gate would demand of a vote on one criterion. */
export const SCHEMA: JsonObject = {
  type: 'object',
  required: ['scores', 'findings'],
  additionalProperties: false,
  properties: {
    scores: {
      type: 'object',
      required: ['correctness'],
      additionalProperties: false,
      properties: { correctness: { type: 'integer', minimum: 1, maximum: 5 } },
    },
    findings: { type: 'array' },
  },
}

export const BUNDLE: Bundle = {
  output: { text: 'Cats purr.' },
  intents: [{ intent_id: 'i1', type: 'operational', title: 'Inform', statement: 'Tell of cats', success_criteria: [] }],
  constraints: [{ intent_id: 'c1', title: 'No dogs', statement: 'Say nothing of dogs' }],
  knowledge: [{ entry_id: 'k1', title: 'Cats', text: 'They purr.' }],
  evidence: [],
  criteria: [
    {
      dimension: 'correctness',
      scale: { min: 1, max: 5, type: 'integer' },
      pass_threshold: 4,
      evidence_required: true,
    },
  ],
  context: [],
  role: 'verifier',
}

/** Nonces that differ, each followed by the canary. */
function marks(): { unique(): string } {
  let made = 0
  return {
    unique() {
      made += 1
      return made % 2 === 1 ? `nonce-${made}` : DRAWN
    },
  }
}

export async function verifierRig(): Promise<VerifierRig> {
  const project = mkdtempSync(path.join(os.tmpdir(), 'assay-verifier-'))
  mkdirSync(path.join(project, 'agents/schemas'), { recursive: true })
  const write = (name: string, value: Json | object) => writeFileSync(path.join(project, name), JSON.stringify(value))
  write('agents/critic.json', CRITIC_MANIFEST)
  write('agents/schemas/never.json', { not: {} })
  write('script.yaml', [])
  const schemas = createSchemaChecker()
  const egress = createEgress({ allowPrivate: false, clock: systemClock })
  const note = () => undefined
  const offline = { provider: 'scripted', model: 'default' }
  const house = await createAgents({
    settings: {
      project,
      watch: false,
      models: {
        ...SETTINGS,
        worker: offline,
        supervisor: offline,
        verifier: offline,
        providers: { scripted: { kind: 'scripted' } },
        script: path.join(project, 'script.yaml'),
      },
      prices: {},
      tools: { mcp: {}, rules: {}, httpAllow: [], timeoutMs: 1_000, maxResultBytes: 1_000 },
    },
    egress: { configured: egress, tools: egress },
    secrets: createSecrets(async () => undefined),
    schemas,
    clock: systemClock,
    random: systemRandom,
    ids: marks(),
    log: { info: note, warn: note, error: note },
    capabilities: new Set(),
  })
  const rig = engineRig()
  const engine = await rig.host({ agents: house.agents, schemas })
  return {
    house,
    engine,
    store: rig.store,
    script: entries => write('script.yaml', entries),
    async verify({ agentId = 'assay.verifier', bundle = {} } = {}) {
      const inputs = { agentId, bundle: { ...BUNDLE, ...bundle }, schema: SCHEMA } as unknown as JsonObject
      const runId = await startRun(engine, 'assay-verifier', { inputs, configurable: { reasoningVerbosity: 'off' } })
      const look = async () => (await engine.inspect('t1', runId))!
      await until(async () => (await look()).state.phase === 'ended')
      const { state } = await look()
      const events = (await engine.readEvents('t1', runId, 0))!
      // What the run was given names its output; what it told of it afterwards is what matters.
      return {
        state,
        log: events
          .slice(1)
          .map(({ type, payload }) => `${type} ${payload}`)
          .join('\n'),
      }
    },
    async close() {
      await engine.stop(0)
      await house.close()
      egress.close()
      await schemas.close()
      rmSync(project, { recursive: true, force: true })
    },
  }
}
