import type { Spend } from '../core/budget/budget.js'
import type { Json, JsonObject } from '../core/json.js'
import type { Effect } from '../core/run/effects.js'
import type { Recorded } from '../core/run/events.js'
import { verifiersIn } from '../core/run/waiting.js'
import type { AgentVerified } from '../core/verification/events.js'
import type { Placement } from '../core/verification/gate.js'
import { RESULT_ARTIFACT, type VerificationRecord } from '../core/verification/record.js'
import type { Finding, ProbeResult } from '../core/verification/voting/judgement.js'
import type { TrackRecord } from '../core/verification/voting/licence.js'
import { taggedSha256OfJson } from '../digest.js'
import { boundGate } from './gates.js'
import type { Scenario } from './given-when-then.js'
import { begins, ends } from './orchestration.js'
import type { Sketch } from './workflow.js'

/** A gate at work, by hand: what its probes and its verifiers say is put to the run one by one. */

/** A workflow that hands its work to one worker, `w`, at the node `a`. */
export const subFlow = (config: JsonObject = {}, more: Partial<Sketch> = {}): Sketch => ({
  nodes: { a: { type: 'core.subWorkflow', config: { workflowId: 'w', outputMapping: { got: 'x' }, ...config } } },
  ...more,
})

/** A gate at a node; by default the one that `boundGate` has. */
export const gateAt = (phase_id: string, placement: Placement, given: Parameters<typeof boundGate>[0] = {}) =>
  boundGate({ ...given, position: { workflow_id: 'sketch', phase_id, placement, ...given?.position } })

const owedOf = <Kind extends Effect['kind']>(run: Scenario, kind: Kind) =>
  run.owed.filter((effect): effect is Extract<Effect, { kind: Kind }> => effect.kind === kind)

/** The evidence that is wanted; undefined when none is. */
export const wantedOf = (run: Scenario) => owedOf(run, 'gather-evidence')[0]

/** The verifiers that are to be started, or are at work, in this order. */
export const verifiersOwed = (run: Scenario) => owedOf(run, 'start-child').filter(({ verifier }) => verifier)

type Known = { readonly evidence?: readonly ProbeResult[]; readonly licence?: TrackRecord }

/** As the engine would say it, of what the run wants to know. */
export function inspectionOf(run: Scenario, { evidence = [], licence }: Known = {}) {
  const wanted = wantedOf(run)
  if (!wanted) throw new Error(`no evidence is wanted; owed: ${run.owed.map(({ kind }) => kind).join(', ')}`)
  const { nodeId, since, bound, attempt, round, result, context } = wanted
  const about = { nodeId, since, gateId: bound.gate.gate_id, attempt, round, resultHash: taggedSha256OfJson(result) }
  const hash = context.length === 0 ? {} : { contextHash: taggedSha256OfJson(context) }
  return { type: 'Inspected' as const, ...about, evidence, ...hash, ...(licence ? { licence } : {}) }
}

export const inspects = (run: Scenario, known: Known = {}): Scenario => run.when(inspectionOf(run, known))

/** The world has made the runs of all verifiers that are asked for; they are named by when they were asked. */
export function convenes(run: Scenario): Scenario {
  for (let [owed] = verifiersOwed(run); owed; [owed] = verifiersOwed(run)) {
    const { nodeId, since, worker } = owed
    run.when({ type: 'ChildStarted', nodeId, since, worker, verifier: true, childRunId: `judge-${since}` })
  }
  return run
}

/** Those at work for a gate, by position. */
export const judgesOf = (run: Scenario) => {
  const nodes = run.state.phase === 'active' ? run.state.nodes : []
  return nodes.flatMap(verifiersIn)
}

export type Said = {
  /** Of every dimension that is asked for. */
  readonly score?: number
  readonly scores?: { readonly [dimension: string]: number | { readonly could_not_check: string } }
  readonly findings?: readonly Omit<Finding, 'finding_id' | 'source'>[]
  readonly confidence?: number
  readonly spent?: Spend
  readonly held?: Spend
  readonly model?: string
  readonly prompt?: string
}

export const blocker = (
  dimension = 'correctness',
  classification: Finding['classification'] = 'blocking',
): NonNullable<Said['findings']>[number] => ({
  dimension,
  classification,
  description: `${dimension} is not there`,
  evidence: [{ evidence_type: 'artifact_reference', ref: '/x', detail: 'see for yourself' }],
})

/** What a verifier that was asked says; by default that all is well. */
export function voteOf(run: Scenario, childRunId: string, { score = 10, findings = [], ...said }: Said = {}) {
  const nodeId = nodeOf(run, childRunId)
  const criteria = run.log.flatMap(event =>
    isAsking(event) && event.nodeId === nodeId ? [event.payload.criteria] : [],
  )
  const scores = said.scores ?? Object.fromEntries((criteria.at(-1) ?? []).map(dimension => [dimension, score]))
  const { confidence, spent, held, model, prompt } = said
  const told = [...findings, ...proofsOf(run, scores, findings)]
  const verification = { result: { scores, findings: told }, ...(confidence === undefined ? {} : { confidence }) }
  return {
    type: 'ChildEnded' as const,
    nodeId,
    childRunId,
    status: 'completed' as const,
    variables: { verification: verification as unknown as Json },
    hidden: [],
    ...(spent ? { spent } : {}),
    ...(held ? { held } : {}),
    ...(model === undefined ? {} : { models: [model] }),
    ...(prompt === undefined ? {} : { prompts: [prompt] }),
  }
}

/** Where it is said what verifiers are asked. */
const isAsking = (event: Recorded) =>
  event.type === 'dws.verification.started' || event.type === 'assay.verification.confirming'
/** Whoever scores below a threshold says what is there: a hint for each dimension of which nothing else is found. */
function proofsOf(run: Scenario, scores: NonNullable<Said['scores']>, findings: NonNullable<Said['findings']>) {
  const gates = run.state.phase === 'active' ? (run.state.gated?.gates ?? []) : []
  const criteria = gates.flatMap(({ gate }) => gate.evaluation_criteria)
  const isShort = (dimension: string, score: unknown) =>
    criteria.some(one => one.dimension === dimension && one.evidence_required && Number(score) < one.pass_threshold)
  return Object.entries(scores)
    .filter(([dimension, score]) => isShort(dimension, score) && findings.every(one => one.dimension !== dimension))
    .map(([dimension]) => blocker(dimension, 'advisory'))
}

const nodeOf = (run: Scenario, childRunId: string): string => {
  const started = run.log.find(
    event => event.type === 'assay.verifier.started' && event.payload.childRunId === childRunId,
  )
  if (started?.nodeId === undefined) throw new Error(`no verifier ${childRunId}`)
  return started.nodeId
}

const childOf = (run: Scenario, k: number): string => {
  const judge = judgesOf(run)[k]
  if (judge?.is !== 'running') throw new Error(`verifier ${k} is ${judge?.is ?? 'not there'}`)
  return judge.childRunId
}

/** The k-th verifier gives its vote. */
export const votes = (run: Scenario, k: number, said: Said = {}): Scenario =>
  run.when(voteOf(run, childOf(run, k), said))

/** The k-th verifier's run ends without one. */
export function faults(
  run: Scenario,
  k: number,
  status: 'failed' | 'cancelled' = 'failed',
  { spent, code = 'model_failed' }: { readonly spent?: Spend; readonly code?: string } = {},
): Scenario {
  const childRunId = childOf(run, k)
  return run.when({
    type: 'ChildEnded',
    nodeId: nodeOf(run, childRunId),
    childRunId,
    status,
    variables: {},
    hidden: [],
    ...(status === 'failed' ? { error: { code, message: 'it said a secret thing', retryable: false } } : {}),
    ...(spent ? { spent } : {}),
  })
}

/** Evidence, verifiers and their votes, all of them the same, in every round of the attempt. */
export function judged(run: Scenario, said: Said = {}, known: Known = {}): Scenario {
  inspects(run, known)
  while (verifiersOwed(run).length > 0) polled(run, said)
  return run
}

/** One round of votes, all of them the same. */
export function polled(run: Scenario, said: Said = {}): Scenario {
  convenes(run)
  for (const { childRunId } of owedOf(run, 'watch-child').filter(({ wanted }) => wanted[0] === 'verification'))
    if (run.state.phase === 'active') run.when(voteOf(run, childRunId, said))
  return run
}

/** Bad enough to be sent back, and worse with every finding. */
export const poor = (score = 3): Said => ({ score, findings: [blocker()] })

type Brought = {
  readonly nodeId?: string
  readonly worker?: number
  readonly spent?: Spend
  readonly held?: Spend
  /** Of what it has spent: on verifiers of its own. */
  readonly verification?: Spend
  readonly checksum?: string
}

/** A worker is started and brings something back. */
export function works(
  run: Scenario,
  childRunId: string,
  variables: JsonObject = { x: childRunId },
  brought: Brought = {},
) {
  const { nodeId = 'a', worker = 0, ...more } = brought
  begins(run, childRunId, { nodeId, worker })
  return ends(run, childRunId, variables, { nodeId, ...more })
}

/** What gates have said, in order. */
export const verdicts = (run: Scenario): AgentVerified[] =>
  run.log.flatMap(event => (event.type === 'agent.verified' ? [event.payload] : []))

export const recordsOf = (log: readonly Recorded[]): VerificationRecord[] =>
  log.flatMap(event =>
    event.type === 'artifact.created' && event.payload.artifactType === RESULT_ARTIFACT
      ? [event.secret!.content as unknown as VerificationRecord]
      : [],
  )
