import { at, isObject, type Json, own, sameJson } from '../json.js'
import { runInputs } from '../run/inputs.js'
import { carriesSecret, MASK, maskOutputs, secretsOf } from '../run/redaction.js'
import { type Active, nodeAt } from '../run/state.js'
import { isTooLarge } from '../run/value-size.js'
import { atWork, type Reviewed } from '../run/waiting.js'
import { actorsIn } from '../workflow/actors.js'
import { type Plan, planNodeOf } from '../workflow/plan.js'
import type { StagedSubject } from './attempt.js'
import { parseContextRef } from './context-ref.js'
import { FEEDBACK_INPUT } from './feedback.js'
import type { BoundGate } from './gate.js'

/**
 * What of the run a verifier may hold the work against (docs/contract/verifier-input.md). Values are taken once, when
 * the result is put to the gate, and are the same for every verifier of that attempt.
 */
export type ContextEntry = { readonly ref: string; readonly value: Json }

/** Why a gate's `context` came to nothing: no verifier is asked, because it would judge without its sources. */
export type ContextProblem = {
  readonly code: 'context_missing' | 'context_hidden' | 'context_own_work' | 'context_too_large'
  readonly ref: string
  readonly reason: string
}

export type ContextTaken =
  | { readonly ok: true; readonly entries: readonly ContextEntry[] }
  | { readonly ok: false; readonly problem: ContextProblem }

/** Of all entries together, as JSON text. */
export const MAX_CONTEXT_BYTES = 262_144

/** Where the work is that is judged, and whose it is. */
type Judged = {
  readonly plan: Plan
  readonly state: Active
  readonly bound: BoundGate
  readonly node: Reviewed
  readonly subject: StagedSubject
}

type Taken = { readonly ok: true; readonly value: Json } | { readonly ok: false; readonly problem: ContextProblem }

/** Undefined where the gate names nothing. */
export function takeContext(judged: Judged): ContextTaken | undefined {
  const { context = [], exit_values = [] } = judged.bound.gate
  const lost = judged.subject.point === 'run' ? exit_values.find(ref => !isLeft(judged.state, ref)) : undefined
  if (lost !== undefined) return { ok: false, problem: missing(lost, `the run has left nothing at ${lost}`) }
  if (context.length === 0) return undefined
  const entries: ContextEntry[] = []
  for (const ref of context) {
    const taken = sourceAt(judged, ref)
    if (!taken.ok) return taken
    entries.push({ ref, value: taken.value })
  }
  if (isTooLarge(entries, MAX_CONTEXT_BYTES)) {
    const reason = `what the gate's context names takes more than ${MAX_CONTEXT_BYTES} bytes; name less of it, by a longer path`
    return { ok: false, problem: { code: 'context_too_large', ref: context.join(', '), reason } }
  }
  return { ok: true, entries }
}

/** Whether a run that is about to end has what an entry of `exit_values` names. */
function isLeft({ variables, channels }: Active, ref: string): boolean {
  const [kind, name = ''] = splitOnce(ref)
  return own<Json>(kind === 'variables' ? variables : channels, name) !== undefined
}

const splitOnce = (ref: string): [string, string] => {
  const dot = ref.indexOf('.')
  return [ref.slice(0, dot), ref.slice(dot + 1)]
}

function sourceAt(judged: Judged, ref: string): Taken {
  const parsed = parseContextRef(ref)
  if (parsed === undefined) return { ok: false, problem: missing(ref, `${ref} names nothing that a run has`) }
  if (parsed.kind === 'knowledge') return known(judged, ref, parsed.entryId)
  // A trial is no run of the work: its sources are given along.
  if (judged.subject.point === 'none') return given(judged, ref)
  return parsed.kind === 'input'
    ? inputAt(judged, ref, parsed.name, parsed.path)
    : outputAt(judged, ref, parsed.nodeId, parsed.path)
}

function known({ bound }: Judged, ref: string, entryId: string): Taken {
  const entry = bound.knowledge.find(({ entry_id }) => entry_id === entryId)
  if (entry === undefined) return { ok: false, problem: missing(ref, `there is no knowledge entry "${entryId}"`) }
  return { ok: true, value: { ...entry } }
}

function given({ state }: Judged, ref: string): Taken {
  const { context } = { ...runInputs(state), ...state.withheld }
  const value = isObject(context) ? own(context, ref) : undefined
  const reason = `the trial was given no ${ref}; give it as context["${ref}"]`
  return value === undefined ? { ok: false, problem: missing(ref, reason) } : { ok: true, value }
}

/** As the run was given it; a variable's default stands in for an input that was not. */
function inputAt({ plan, state }: Judged, ref: string, name: string, path: string): Taken {
  const inputs = runInputs(state)
  // R-DWS-11: what was said of an earlier attempt is no source.
  const value = name === FEEDBACK_INPUT ? undefined : (own(inputs, name) ?? plan.variables.get(name)?.defaultValue)
  if (value === undefined)
    return {
      ok: false,
      problem: missing(ref, `the run was given no input "${name}"; ${listed('it was given', inputs)}`),
    }
  const isHidden = state.hidden.variables.includes(name) || own(state.secretInputs, name) !== undefined
  return shown(state, ref, path, value, isHidden ? MASK : value)
}

function outputAt({ plan, state, node, subject }: Judged, ref: string, nodeId: string, path: string): Taken {
  const source = planNodeOf(plan, nodeId)
  if (source === undefined) return { ok: false, problem: missing(ref, `the workflow has no node "${nodeId}"`) }
  const told = atWork(nodeAt(state, source.index))
  if (told.is !== 'completed' || told.since >= node.since)
    return { ok: false, problem: missing(ref, `node "${nodeId}" had not completed when the judged work began`) }
  if (subject.point !== 'run' && actorsIn({ nodes: [source] }).some(actor => subject.actors.includes(actor)))
    return {
      ok: false,
      problem: { code: 'context_own_work', ref, reason: `node "${nodeId}" is the work of whoever is judged` },
    }
  if (subject.point === 'run' && isAgents(source) && !hasPassed(state, nodeId))
    return { ok: false, problem: missing(ref, `what node "${nodeId}" came to has not passed a gate that blocks`) }
  const { shown: visible } = maskOutputs(state, source.node, told.outputs)
  return shown(state, ref, path, told.outputs, visible)
}

/** Whether an agent had a hand in what a node came to, as far as the plan says. */
export const isAgents = ({ type, agentId }: Plan['nodes'][number]): boolean =>
  agentId !== undefined || type.invokes === true || type.hands === true || type.role !== undefined

function hasPassed({ gated }: Active, nodeId: string): boolean {
  const isBlocking = (id: string) =>
    gated?.gates.some(({ gate }) => gate.gate_id === id && gate.gate_behaviour.blocking) === true
  const slots = Object.values(gated?.slots ?? {}).filter(slot => slot.nodeId === nodeId && !slot.atExit)
  return slots.some(({ verdict, gateId }) => verdict === 'pass' && isBlocking(gateId))
}

/** What the path leads to, unless that must not be seen. `visible`: the value as readers of the log may see it. */
function shown(state: Active, ref: string, path: string, value: Json, visible: Json): Taken {
  const follow = (from: Json) => (path === '' ? from : at(from, path))
  const found = follow(value)
  if (found === undefined)
    return { ok: false, problem: missing(ref, `nothing is at "${path}"; ${listed('there is', visible)}`) }
  if (!sameJson(found, follow(visible)) || carriesSecret(found, secretsOf(state)))
    return { ok: false, problem: { code: 'context_hidden', ref, reason: `${ref} holds what must not be seen` } }
  return { ok: true, value: found }
}

const missing = (ref: string, reason: string): ContextProblem => ({ code: 'context_missing', ref, reason })

const MOST_LISTED = 20

const listed = (verb: string, value: Json): string => {
  const names = isObject(value) ? Object.keys(value) : []
  const rest = names.length > MOST_LISTED ? ', …' : ''
  return names.length === 0 ? `${verb} nothing by name` : `${verb} ${names.slice(0, MOST_LISTED).join(', ')}${rest}`
}
