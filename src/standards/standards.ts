import { isObject, type Json } from '../core/json.js'
import { type Failure, failure } from '../core/problem.js'
import type { BoundGate, Gate } from '../core/verification/gate.js'
import type { Plan } from '../core/workflow/plan.js'
import { sha256 } from '../digest.js'
import type { Answer, StandardsAdmin } from '../engine/api.js'
import type { Clock } from '../engine/ports/clock.js'
import type { SchemaChecker } from '../engine/ports/schema-checker.js'
import type { Standard, StandardKind } from '../engine/ports/standards.js'
import type { Store } from '../engine/ports/store.js'
import type { Standards } from '../engine/ports/verification.js'
import { completeStandard } from './complete.js'
import { gateProblems } from './gate-problems.js'
import { gateSourceProblems } from './gate-sources.js'
import type { Origin } from './names.js'
import type { ReturnSchemas } from './output-paths.js'
import { positionProblems } from './position.js'
import { eachOf, inUse, invalid, shared, unknown } from './refusals.js'
import { createStandardsCache } from './standards-cache.js'
import { type KeptGate, knowledgeOf, type StandardsSnapshot } from './standards-snapshot.js'

export type StandardsDeps = {
  readonly store: Pick<Store, 'putStandard' | 'deleteStandard' | 'listStandards'>
  readonly clock: Pick<Clock, 'now' | 'monotonic'>
  readonly schemas: Pick<SchemaChecker, 'inspect'>
  /** What agents' results are held to; unknown when absent. */
  readonly returnSchema?: ReturnSchemas
  /** Of workflows and agents. Asked for late: the engine that has them is made with what is made here. */
  readonly plans: () => {
    named(tenant: string, workflowId: string): Promise<Plan | undefined>
    known(tenant: string, workflowId: string): Plan | undefined
  }
}

/** What work is held to: asked by the engine when a run starts, managed by the edges. */
export type StandardsRegistry = Standards &
  Omit<StandardsAdmin, 'register'> & {
    /** `tenant: null` shares it with every tenant. */
    register(
      tenant: string | null,
      kind: StandardKind,
      document: Json,
      origin?: Origin,
    ): Promise<Answer<{ readonly standard: Standard; readonly changed: boolean }>>
    /**
     * Makes these the shared ones, or tells what keeps them from it: then nothing is removed. A gate that is not among them any
     * more keeps its workflow from starting until it is among the `retired`.
     */
    share(documents: readonly SharedDocument[], retired?: readonly string[]): Promise<readonly string[]>
  }

export type SharedDocument = { readonly file: string; readonly kind: StandardKind; readonly document: Json }

const MOST_OF_A_KIND = 1_000
/** No tenant has this name, so what it can see is what everybody shares. */
const NOBODY = 'assay:nobody'
/** What gates refer to comes first; what refers to it goes first. */
const ORDER: readonly StandardKind[] = ['knowledge', 'intent', 'gate']

export function createStandards(deps: StandardsDeps): StandardsRegistry {
  const cache = createStandardsCache(deps)
  const register = registerIn(deps, cache)
  return {
    register,
    share: shareIn(deps, cache, register),
    remove: removeFrom(deps, cache),
    ...gatesIn(deps, cache),

    async list(tenant, kind) {
      return (await cache.now(tenant)).all(kind)
    },

    async find(tenant, kind, id) {
      return (await cache.now(tenant)).find(kind, id)
    },
  }
}

type Cache = ReturnType<typeof createStandardsCache>

const registerIn =
  (deps: StandardsDeps, cache: Cache): StandardsRegistry['register'] =>
  async (tenant, kind, document, origin = tenant === null ? 'project' : 'api') => {
    const { store, clock } = deps
    const viewer = tenant ?? NOBODY
    const completed = completeStandard(kind, document, origin)
    if (!completed.ok) return invalid(kind, document, completed.problems)
    const { id, value } = completed
    const shelf = await cache.now(viewer)
    const before = shelf.find(kind, id)
    if (before?.tenant === null && tenant !== null) return { ok: false, refusal: shared(kind, id) }
    if (before === undefined && shelf.all(kind).length >= MOST_OF_A_KIND)
      return invalid(kind, document, [`there are ${MOST_OF_A_KIND} already, which is the most; delete one first`])
    const problems = kind === 'gate' ? await gateProblems(value as Gate, viewer, shelf, deps) : []
    if (problems.length > 0) return invalid(kind, document, problems)
    const body = JSON.stringify(value)
    const record = { tenant, kind, id, hash: sha256(body), body, updatedAt: clock.now() }
    if (before?.hash === record.hash) return { ok: true, value: { standard: before, changed: false } }
    const version = await store.putStandard(record)
    cache.forget(tenant)
    return { ok: true, value: { standard: { ...record, version }, changed: true } }
  }

const shareIn =
  (
    { store, clock }: StandardsDeps,
    cache: Cache,
    register: StandardsRegistry['register'],
  ): StandardsRegistry['share'] =>
  async (documents, retired = []) => {
    const problems: string[] = []
    const kept = new Set<string>()
    for (const { file, kind, document } of ORDER.flatMap(kind => inOrder(documents.filter(one => one.kind === kind)))) {
      const answer = await register(null, kind, document)
      if (answer.ok) kept.add(`${kind}/${answer.value.standard.id}`)
      else if ('refusal' in answer) problems.push(...eachOf(answer.refusal).map(problem => `${file}: ${problem}`))
    }
    for (const id of retired.filter(id => kept.has(`gate/${id}`)))
      problems.push(
        `assay.config: retired names the gate ${JSON.stringify(id)}, which is there; remove it from there, or its file`,
      )
    if (problems.length > 0) return problems
    const shelf = await cache.now(NOBODY)
    const isGone = (kind: StandardKind, id: string) => !kept.has(`${kind}/${id}`)
    const removed = shelf.gates.filter(({ gate_id }) => isGone('gate', gate_id) && !retired.includes(gate_id))
    for (const gate of removed) await markRemoved({ store, clock }, gate)
    for (const gate of removed) keepAll(gate, kept)
    for (const kind of ORDER.toReversed())
      for (const { id } of shelf.all(kind))
        if (isGone(kind, id)) await store.deleteStandard({ tenant: null, kind, id, now: clock.now() })
    cache.forget(null)
    return []
  }

/** What it was goes on to hold for the children of runs that are under way; nothing new is started under it. */
async function markRemoved({ store, clock }: Pick<StandardsDeps, 'store' | 'clock'>, gate: Gate): Promise<void> {
  const kept: KeptGate = { ...gate, removed: true }
  const body = JSON.stringify(kept)
  const name = { tenant: null, kind: 'gate', id: gate.gate_id } as const
  await store.putStandard({ ...name, hash: sha256(body), body, updatedAt: clock.now() })
}

/** With all that it refers to. */
function keepAll(gate: Gate, kept: Set<string>): void {
  kept.add(`gate/${gate.gate_id}`)
  for (const id of gate.intent_refs) kept.add(`intent/${id}`)
  for (const id of knowledgeOf(gate)) kept.add(`knowledge/${id}`)
}

const removeFrom =
  ({ store, clock }: StandardsDeps, cache: Cache): StandardsRegistry['remove'] =>
  async (tenant, kind, id) => {
    const shelf = await cache.now(tenant)
    const found = shelf.find(kind, id)
    if (found === undefined) return unknown(kind)
    if (found.tenant === null) return shared(kind, id)
    const users = kind === 'gate' ? [] : shelf.gates.filter(gate => refersTo(gate, kind, id)).map(gate => gate.gate_id)
    if (users.length > 0) return inUse(kind, id, users)
    await store.deleteStandard({ tenant, kind, id, now: clock.now() })
    cache.forget(tenant)
    return undefined
  }

/** What the engine asks when a run starts. */
const gatesIn = ({ plans }: StandardsDeps, cache: Cache): Standards => ({
  async gatesFor(tenant, workflowId, of) {
    const shelf = await cache.lately(tenant)
    const gates = shelf.gatesOf(workflowId)
    if (gates.length === 0) return []
    const removed = of === 'child' ? undefined : gates.find(({ gate_id }) => shelf.isRemoved(gate_id))
    if (removed) return gateRemoved(removed)
    return boundAll(shelf, workflowId, await plans().named(tenant, workflowId))
  },

  knownFor(tenant, workflowId) {
    const shelf = cache.known(tenant)
    if (shelf === undefined) return undefined
    if (shelf.gatesOf(workflowId).length === 0) return []
    const plan = plans().known(tenant, workflowId)
    return plan && boundAll(shelf, workflowId, plan)
  },

  async gate(tenant, gateId) {
    const bound = (await cache.lately(tenant)).bind(gateId)
    return bound !== undefined && 'hash' in bound ? bound : undefined
  },
})

function gateRemoved({ gate_id, position }: Gate): Failure {
  const message = `the project had the gate ${JSON.stringify(gate_id)} on ${JSON.stringify(position.workflow_id)} and has it no more: put its file back, or, if its work is to go unchecked, write retired: [${gate_id}] into assay.config.yaml and start the host again`
  return failure('gate_removed', message, { retryable: false, details: { gateId: gate_id } })
}

function boundAll(
  shelf: StandardsSnapshot,
  workflowId: string,
  plan: Plan | undefined,
): readonly BoundGate[] | Failure {
  const bound = shelf.gatesOf(workflowId).map(gate => boundAt(gate, shelf, plan))
  return bound.find(one => 'code' in one) ?? bound.filter(one => 'hash' in one)
}

function boundAt(gate: Gate, shelf: StandardsSnapshot, plan: Plan | undefined): BoundGate | Failure {
  const bound = shelf.bind(gate.gate_id)!
  const problems =
    'missing' in bound
      ? bound.missing
      : plan === undefined
        ? ['position.workflow_id: there is no such workflow']
        : [...positionProblems(gate, plan), ...gateSourceProblems(gate, plan, shelf.gatesOf(gate.position.workflow_id))]
  if ('hash' in bound && problems.length === 0) return bound
  const { workflow_id } = gate.position
  const message = `gate ${JSON.stringify(gate.gate_id)} does not fit ${JSON.stringify(workflow_id)}: ${problems[0]}; correct the gate or delete it`
  return failure('gate_unbound', message, { retryable: false, details: { gateId: gate.gate_id } })
}

/** A gate at the exit may name what another gate has let pass, so that one comes first. */
const inOrder = (documents: readonly SharedDocument[]): readonly SharedDocument[] =>
  [...documents].sort((a, b) => Number(isAtExit(a)) - Number(isAtExit(b)))

const isAtExit = ({ document }: SharedDocument): boolean =>
  isObject(document) && isObject(document.position) && document.position.placement === 'workflow_exit'

const refersTo = (gate: Gate, kind: 'intent' | 'knowledge', id: string): boolean =>
  (kind === 'intent' ? gate.intent_refs : knowledgeOf(gate)).includes(id)
