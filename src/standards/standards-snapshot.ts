import type { Json } from '../core/json.js'
import { isAgentId } from '../core/names.js'
import { present } from '../core/present.js'
import { knowledgeIn } from '../core/verification/context-ref.js'
import type { BoundGate, Gate, Intent, Knowledge } from '../core/verification/gate.js'
import { sha256OfJson } from '../digest.js'
import type { Standard, StandardKind } from '../engine/ports/standards.js'
import { agentWorkflow } from '../engine/plans/agent-workflow.js'

/** All that one tenant's work is held to, at one time. */
export type StandardsSnapshot = {
  readonly find: (kind: StandardKind, id: string) => Standard | undefined
  /** By id. */
  readonly all: (kind: StandardKind) => readonly Standard[]
  /** Gates of a workflow, by id. */
  readonly gatesOf: (workflowId: string) => readonly Gate[]
  readonly gates: readonly Gate[]
  /** The project had it and has it no more, and nobody has said that this is meant: it is kept as it was last. */
  readonly isRemoved: (gateId: string) => boolean
  /** The gate with all it refers to; what of that is not there, where something is missing. */
  readonly bind: (gateId: string) => BoundGate | { readonly missing: readonly string[] } | undefined
}

export function standardsSnapshot(standards: readonly Standard[]): StandardsSnapshot {
  // Where the project has the same id as a tenant, the project's holds: nobody weakens a gate that was put above him.
  const inOrder = [...standards].sort((a, b) => Number(a.tenant === null) - Number(b.tenant === null))
  const held = new Map(inOrder.map(standard => [nameOf(standard.kind, standard.id), standard]))
  const all: StandardsSnapshot['all'] = kind =>
    [...held.values()].filter(standard => standard.kind === kind).sort((a, b) => (a.id < b.id ? -1 : 1))
  const of = <T>(kind: StandardKind): ReadonlyMap<string, T> =>
    new Map(all(kind).map(standard => [standard.id, documentOf<T>(standard)]))
  const find: StandardsSnapshot['find'] = (kind, id) => held.get(nameOf(kind, id))
  const kept = of<KeptGate>('gate')
  const gates = new Map([...kept].map(([id, { removed: _removed, ...gate }]) => [id, gate as Gate]))
  const intents = of<Intent>('intent')
  const knowledge = of<Knowledge>('knowledge')
  const bound = new Map<string, ReturnType<StandardsSnapshot['bind']>>()
  const bind = (gateId: string): ReturnType<StandardsSnapshot['bind']> => {
    const gate = gates.get(gateId)
    const standard = find('gate', gateId)
    if (gate === undefined || standard === undefined) return undefined
    const missing = missingOf(gate, find)
    if (missing.length > 0) return { missing }
    // A gate that all share is measured by what all share: no tenant has a say in it.
    const mayBind = ({ intent_id }: Intent) => standard.tenant !== null || find('intent', intent_id)?.tenant === null
    const parts = {
      gate,
      intents: gate.intent_refs.map(id => present(intents.get(id), `intent "${id}"`)),
      constraints: [...intents.values()].filter(intent => holdsFor(intent, gate) && mayBind(intent)),
      knowledge: knowledgeOf(gate).map(id => present(knowledge.get(id), `knowledge "${id}"`)),
    }
    return { ...parts, version: standard.version, hash: sha256OfJson(parts as unknown as Json) }
  }
  return {
    find,
    all,
    gates: [...gates.values()],
    isRemoved: gateId => kept.get(gateId)?.removed === true,
    gatesOf: workflowId => [...gates.values()].filter(gate => homeOf(gate.position.workflow_id) === homeOf(workflowId)),
    bind(gateId) {
      if (!bound.has(gateId)) bound.set(gateId, bind(gateId))
      return bound.get(gateId)
    },
  }
}

/** A gate as it is stored. */
export type KeptGate = Gate & { readonly removed?: true }

/** All knowledge that a gate refers to, as what verifiers know or as a source, each once. */
export const knowledgeOf = ({ knowledge_refs, context }: Gate): string[] => [
  ...new Set([...knowledge_refs, ...knowledgeIn(context)]),
]

/** What a gate refers to and is not there, in words. */
export function missingOf(gate: Gate, find: StandardsSnapshot['find']): string[] {
  const { intent_refs, knowledge_refs, context } = gate
  const lost = (kind: StandardKind, ids: readonly string[]) => ids.filter(id => find(kind, id) === undefined)
  return [
    ...lost('intent', intent_refs).map(id => `intent_refs: there is no intent ${JSON.stringify(id)}`),
    ...lost('knowledge', knowledge_refs).map(id => `knowledge_refs: there is no knowledge entry ${JSON.stringify(id)}`),
    ...lost('knowledge', knowledgeIn(context)).map(id => `context: there is no knowledge entry ${JSON.stringify(id)}`),
  ]
}

/** R-DWS-7: the constraints that apply to the work, whether its author thought of them or not. */
const holdsFor = ({ intent_id, type, workflow_ids }: Intent, { intent_refs, position }: Gate): boolean =>
  type === 'constraint' &&
  (intent_refs.includes(intent_id) ||
    workflow_ids === undefined ||
    workflow_ids.some(id => homeOf(id) === homeOf(position.workflow_id)))

/** The workflow that is run where an agent's id is given. */
const homeOf = (id: string): string => (isAgentId(id) ? agentWorkflow(id).id : id)

/** What a store holds under an id counts only if that is its id; otherwise nobody knows what work would be held to. */
function documentOf<T>({ kind, id, body }: Standard): T {
  const document = JSON.parse(body) as { readonly [field: string]: Json }
  const field = { gate: 'gate_id', intent: 'intent_id', knowledge: 'entry_id' }[kind]
  if (document[field] !== id) throw new Error(`the ${kind} stored under ${JSON.stringify(id)} is another one`)
  return document as T
}

const nameOf = (kind: StandardKind, id: string): string => `${kind}\0${id}`
