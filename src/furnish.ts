import path from 'node:path'
import { directoryOf } from './agent-directory.js'
import { type AgentHouse, createAgents } from './agents/agents.js'
import { erasureMarks } from './audit/erasure-mark.js'
import { Sealer } from './audit/sealer.js'
import { readTrustedKeys, type SigningKey } from './audit/signing-key.js'
import { ensureLocalKey } from './client/local-key.js'
import { type Config, ConfigError } from './config.js'
import type { MockPrograms } from './conformance/mock-programs.js'
import { SideEffectJournal } from './conformance/side-effect-journal.js'
import { readGoal, workOf } from './core/goal/goal-document.js'
import { SPACES, type Space } from './core/journal/place.js'
import type { OwnEffect } from './core/workflow/own-effects.js'
import type { GoalAdmin } from './engine/api.js'
import type { GoalSettings } from './engine/goals/deps.js'
import type { CommitmentAdmin } from './engine/commitments/commitment-admin.js'
import { createCommitments } from './engine/commitments/commitments.js'
import { createMemoryDesk } from './engine/journal/memory-desk.js'
import type { DeskSettings } from './engine/journal/run-desk.js'
import { createWorkspaceDesk } from './engine/journal/workspace-desk.js'
import type { Trail } from './engine/ports/audit.js'
import type { Vault } from './engine/ports/agents.js'
import type { Log } from './engine/ports/log.js'
import type { Clock } from './engine/ports/clock.js'
import type { JournalDesk } from './engine/ports/desk.js'
import type { ApiKey } from './engine/ports/keys.js'
import type { Performer, StepActor } from './engine/ports/performer.js'
import type { Predicates } from './engine/ports/verification.js'
import { artifactsIn } from './engine/queries/artifacts.js'
import type { Engine } from './engine/runtime/engine.js'
import type { Ground, Opened, Unbounded } from './ground.js'
import { withConfiguredKeys } from './http/auth/configured-keys.js'
import { hashKey } from './http/auth/key-cache.js'
import { httpSettings } from './http-settings.js'
import { ensureLinkSecrets } from './link-secrets.js'
import { packageVersion } from './package-version.js'
import { PeerClient, type PeersDeps } from './peers/peer-client.js'
import { createInspector } from './probes/inspector.js'
import type { ProjectGoal } from './project/goals.js'
import { peerProblems } from './project/peer-settings.js'
import { CertificateIssuer } from './receipts/certificate-issuer.js'
import { ReceiptIssuer } from './receipts/issuer.js'
import { receiptJudge } from './receipts/peer-evidence.js'
import { Eraser } from './retention/eraser.js'
import { JournalCollector } from './retention/journal-collector.js'
import { Purger } from './retention/purger.js'
import { SEARCH_PATH } from './processes/search-path.js'
import { createCodeStep } from './steps/code/code-step.js'
import { compileWorkflow, describeSteps } from './steps/code/registry.js'
import { createCommandStep } from './steps/command-step.js'
import { createHttpStep } from './steps/http-step.js'
import { createToolStep } from './steps/tool-step.js'
import { goalProbes } from './standards/probe-set.js'
import { eachOf } from './standards/refusals.js'
import { FairQueue } from './timing/fair-queue.js'
import { NO_TURNS } from './timing/turns.js'
import { SCOPES } from './wire/key.js'

/** The rooms of a host, each made of its ground and what it was configured with; `host.ts` puts them together. */

/** What manifests may require of this host. */
const AGENT_CAPABILITIES: ReadonlySet<string> = new Set([
  'agents.liveRuntime',
  'agents.manifestRuntime',
  'toolHooks',
  'budget',
  'prompts',
])

export const deskSettings = ({ memory, workspace }: Config): DeskSettings => ({
  maxBytes: { memory: memory.maxEntryBytes, workspace: workspace.maxFileBytes },
  maxEntries: { memory: memory.maxScopeEntries, workspace: workspace.maxFiles },
  fullText: memory.fullText,
})

export const spacesOf = (config: Config): readonly Space[] => SPACES.filter(space => config[space].enabled)

export const goalSettings = ({ goals, quotas, scheduling }: Config, { secrets }: Ground): GoalSettings => ({
  enabled: goals.enabled,
  ...(goals.run ? { run: workOf(goals.run) } : {}),
  quotas,
  horizonMs: scheduling.horizonDays * 86_400_000,
  redact: secrets.redact,
})

/** Commitments of a tenant, whose entries are kept as runs keep theirs. */
export const commitmentsFor = (
  config: Config,
  { store, clock, ids, secrets, longTexts }: Ground,
  engine: Engine,
  { vault, predicates }: { readonly vault: Vault; readonly predicates: Predicates },
): CommitmentAdmin =>
  createCommitments(engine.ground, {
    store,
    clock,
    ids,
    vault,
    predicates,
    longTexts,
    redact: secrets.redact,
    quotas: config.quotas,
    settings: {
      horizonMs: config.scheduling.horizonDays * 86_400_000,
      maxEntryBytes: config.memory.maxEntryBytes,
      fullText: config.memory.fullText,
    },
  })

/** Makes the goals of a project: in its own name, for the tenant whose schedules it has. */
export const projectGoals =
  ({ goals: { enabled }, scheduling: { tenant } }: Config, goals: GoalAdmin, engine: Engine, { warn }: Log) =>
  async ({ file, name, document }: ProjectGoal): Promise<readonly string[]> => {
    if (!enabled) {
      warn({ file }, 'goals are switched off (goals.enabled), so this one is not made')
      return []
    }
    const read = readGoal(document, goalProbes('project'))
    if ('code' in read) return eachOf(read)
    const { work } = read
    const named = work && ('agentId' in work ? work.agentId : work.workflowId)
    if (named !== undefined && !(await engine.plans.named(tenant, named)))
      return [`assay.run names ${JSON.stringify(named)}, and there is no such workflow or agent here`]
    const refusal = await goals.ensure(name, { owner: { tenant, principal: 'project' }, ...read })
    return refusal ? [refusal.message] : []
  }

export async function furnishAgents(
  config: Config,
  ground: Ground,
  desk: JournalDesk,
  programs: MockPrograms | undefined,
  opened: Opened,
): Promise<AgentHouse> {
  const { store, ...others } = ground
  const house = await createAgents({
    ...others,
    settings: config.agents,
    programs,
    capabilities: new Set([...AGENT_CAPABILITIES, ...spacesOf(config)]),
    spaces: spacesOf(config),
    artifacts: artifactsIn(store),
    desk,
  })
  opened.push(() => house.close())
  const unusable = house.problems()
  if (unusable.length > 0) throw new ConfigError(unusable)
  return house
}

/** What nodes without an agent have done. */
export function actorsOf(
  { project, data, steps: { atOnce, memoryMb } }: Config,
  { egress, secrets, schemas, clock, log }: Ground,
  { tools }: AgentHouse,
  desk: JournalDesk,
): ReadonlyMap<OwnEffect, StepActor> {
  // One place is left to whoever comes next, however long the work of one tenant takes.
  const places = new FairQueue(atOnce, () => ({ weight: 1, atOnce: Math.max(1, atOnce - 1) }))
  const shared = { project, data, memoryMb, places, searchPath: SEARCH_PATH, secrets, clock, log }
  return new Map<OwnEffect, StepActor>([
    ['core.tool', createToolStep({ tools, secrets })],
    ['core.http', createHttpStep({ egress: egress.steps, secrets })],
    ['core.command', createCommandStep(shared)],
    ['core.step', createCodeStep({ ...shared, egress: egress.steps, schemas, desk })],
  ])
}

/** What the code of a project says of itself: its steps, and what its workflows in TypeScript come to. */
export function projectCode({ project = '', data, steps: { memoryMb } }: Config, { clock }: Pick<Ground, 'clock'>) {
  const deps = { project, data, memoryMb, searchPath: SEARCH_PATH, clock }
  return { steps: () => describeSteps(deps), compile: (file: string) => compileWorkflow(deps, file) }
}

/** Other hosts, none of which may be this one. */
export function openPeers(
  { peers }: Config,
  { egress, secrets, clock, log }: Ground,
  hostId: string,
  opened: Opened,
): PeerClient {
  const problems = peerProblems(peers, hostId)
  if (problems.length > 0) throw new ConfigError(problems)
  const judges = new Map(Object.entries(peers.hosts).map(([name, peer]) => [name, receiptJudge(peer.receiptKeys)]))
  const judgeReceipt: PeersDeps['judgeReceipt'] = (peer, text, seen) =>
    judges.get(peer)?.(text, seen) ?? { evidence: false, why: 'key-unknown' }
  const client = new PeerClient({
    egress: egress.configured,
    secrets,
    clock,
    log,
    settings: peers,
    hostId,
    judgeReceipt,
  })
  opened.push(() => client.close())
  return client
}

/** Memory and workspaces as keys get at them; runs do so on their own. */
export function journalDesks(config: Config, ground: Ground, vault: Vault, plans: () => Engine['plans']) {
  const { store, clock, ids, turns, secrets, longTexts } = ground
  const deps = { store, clock, ids, turns, vault, plans, redact: secrets.redact, longTexts }
  return {
    memory: createMemoryDesk(deps, config.memory),
    workspace: createWorkspaceDesk({ ...deps, usage: store, quotas: config.quotas }, config.workspace),
    stream: store,
  }
}

/** Gates look at files of the project's own; a project without any has none to look at. */
export const inspectorFor = ({ project }: Config, { egress, schemas, pure, clock, log }: Ground) =>
  createInspector({
    egress: egress.probes,
    schemas,
    pure,
    project,
    workspace: project && path.join(project, 'workspace'),
    clock,
    log,
  })

/** What the HTTP edge has besides the engine and what is made with it. */
export async function edgeOf(
  config: Config,
  { store, clock, ids, log, turns }: Ground,
  house: AgentHouse,
  { configured, hostId }: { readonly configured: ApiKey; readonly hostId: string },
  unbounded: Unbounded = {},
) {
  return {
    keys: withConfiguredKeys(store, [configured]),
    responses: store,
    usage: store,
    agents: directoryOf(house),
    tokenSecrets: config.tokenSecrets.length > 0 ? config.tokenSecrets : await ensureLinkSecrets(config.data),
    clock,
    ids,
    log,
    config: await httpSettings(config, hostId, unbounded),
    turns: unbounded.streams ? NO_TURNS : turns,
  }
}

export const receiptsOf = (
  { data }: Config,
  deps: Omit<ConstructorParameters<typeof ReceiptIssuer>[0], 'keys' | 'version'>,
): ReceiptIssuer => new ReceiptIssuer({ ...deps, keys: () => readTrustedKeys(data), version: packageVersion() })

export const certificatesOf = (
  { data }: Config,
  deps: Omit<ConstructorParameters<typeof CertificateIssuer>[0], 'keys' | 'version'>,
): CertificateIssuer => new CertificateIssuer({ ...deps, keys: () => readTrustedKeys(data), version: packageVersion() })

export const conformancePerformers = (config: Config): [string, Performer][] =>
  config.conformance
    ? [['conformance.side-effect', new SideEffectJournal(path.join(config.data, 'side-effects.log'))]]
    : []

/** The configured key, or on a loopback address one made for this machine's user. */
export async function configuredKey(config: Config, clock: Clock): Promise<ApiKey> {
  const name = config.apiKey === undefined ? 'local' : 'environment'
  const hash = hashKey(config.apiKey ?? (await ensureLocalKey(config.data)))
  const keyId = `${name}-${hash.slice(0, 8)}`
  const granted = { keyId, hash, tenant: 'default', principal: name, scopes: SCOPES, test: false }
  return { ...granted, createdAt: clock.now(), expiresAt: null, revokedAt: null, madeBy: [] }
}

/** Who looks after what is kept: seals ended runs, and deletes what has had its time or is to be forgotten. */
export function keepersOf(
  { data, memory, retention: rules }: Config,
  { store, clock, log }: Ground,
  by: { readonly key: SigningKey; readonly configured: ApiKey; readonly trail: Trail; readonly hostId: () => string },
) {
  const { key, configured, trail, hostId } = by
  const sealer = new Sealer({ store, clock, log, key })
  const marks = erasureMarks(key, () => readTrustedKeys(data))
  return {
    sealer,
    purger: new Purger({ store, trail, clock, log, rules, seal: () => sealer.seal(), hostId }),
    collector: new JournalCollector({ store, clock, log, days: memory.retentionDays }),
    eraser: new Eraser({ store, clock, log, hostId, configured: [configured.tenant], marks }),
  }
}
