import type { Json } from '../json.js'
import type { BoundGate, Criterion, Intent, Knowledge } from './gate.js'
import type { ContextEntry } from './gate-context.js'
import type { ProbeResult } from './voting/judgement.js'

/**
 * All that a verifier is given (R-DWS-7, R-DWS-33). There is no other way to make one, and nothing in here knows the
 * run, its log, its memory, the worker, its words or earlier attempts: what cannot be put in cannot leak (R-DWS-8 to 12).
 */
export type Bundle = {
  readonly output: Json
  readonly intents: readonly Pick<Intent, 'intent_id' | 'type' | 'title' | 'statement' | 'success_criteria'>[]
  readonly constraints: readonly Pick<Intent, 'intent_id' | 'title' | 'statement'>[]
  readonly knowledge: readonly Knowledge[]
  readonly evidence: readonly ProbeResult[]
  readonly criteria: readonly Pick<
    Criterion,
    'dimension' | 'description' | 'scale' | 'pass_threshold' | 'evidence_required'
  >[]
  /** What the gate names of the run to hold the output against: given by the run, not by whoever is judged. */
  readonly context: readonly ContextEntry[]
  /** As what it judges: the gate's `verifier_requirements.role`. */
  readonly role: string
}

/** `dimensions`: the criteria that are judged this time. */
export function bundleOf(
  { gate, intents, constraints, knowledge }: BoundGate,
  dimensions: readonly string[],
  output: Json,
  evidence: readonly ProbeResult[],
  context: readonly ContextEntry[] = [],
): Bundle {
  const asked = gate.evaluation_criteria.filter(({ dimension }) => dimensions.includes(dimension))
  const isReferred = ({ entry_id }: Knowledge) => gate.knowledge_refs.includes(entry_id)
  return {
    output,
    intents: intents.map(({ intent_id, type, title, statement, success_criteria }) => ({
      intent_id,
      type,
      title,
      statement,
      success_criteria,
    })),
    constraints: constraints.map(({ intent_id, title, statement }) => ({ intent_id, title, statement })),
    // What stands among the sources is not said twice.
    knowledge: knowledge.filter(isReferred).map(({ entry_id, title, text, url }) => ({
      entry_id,
      title,
      text,
      ...(url === undefined ? {} : { url }),
    })),
    evidence,
    criteria: asked.map(({ dimension, description, scale, pass_threshold, evidence_required }) => ({
      dimension,
      ...(description === undefined ? {} : { description }),
      scale,
      pass_threshold,
      evidence_required,
    })),
    context: context.map(({ ref, value }) => ({ ref, value })),
    role: gate.verifier_requirements.role,
  }
}
