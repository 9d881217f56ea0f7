import { at, canonicalJson, isObject, type Json, type JsonObject, own } from '../../core/json.js'
import { withoutMarker } from '../markers.js'
import { PLACEHOLDER, type PromptProblem, type PromptTemplate, type PromptVariable } from './template.js'
import { fenced } from './untrusted.js'

/** What a template's variables are taken from. */
export type VariableValues = {
  /** The task. */
  readonly input: Json
  /** Variables of the run. */
  readonly variable: JsonObject
  /** What the host says itself, such as the run's id. */
  readonly context: JsonObject
}

export type Rendered =
  | { readonly ok: true; readonly text: string; readonly values: readonly BoundValue[] }
  | PromptProblem

export type BoundValue = { readonly name: string; readonly value: Json }

/** A placeholder that the template does not declare has no type to be held to. */
type Slot = Omit<PromptVariable, 'type'> & Partial<Pick<PromptVariable, 'type'>>

/** Where a value is from decides how far it is trusted: what a run brings along is fenced, an author's word is not. */
type Bound = { readonly value: Json; readonly from: 'author' | 'context' | 'input' | 'variable' }

/** R-PROMPT-4: puts values in the places of their names, once: a value is never searched for more names. */
export function renderTemplate(template: PromptTemplate, overrides: JsonObject, values: VariableValues): Rendered {
  const slots = slotsOf(template)
  const stray = Object.keys(overrides).find(name => !slots.some(slot => slot.name === name))
  if (stray !== undefined) return problem(template, `has no variable ${JSON.stringify(stray)} to override`)
  const bound = new Map<string, Bound>()
  for (const slot of slots) {
    const found = bind(slot, overrides, values)
    if (found === undefined) {
      if (slot.required) return problem(template, `needs a value for ${slot.name}, from ${placeOf(slot)}`)
      continue
    }
    if (slot.type !== undefined && slot.type !== typeOf(found.value)) {
      return problem(template, `needs ${slot.name} to be of type ${slot.type}; it is ${typeOf(found.value)}`)
    }
    bound.set(slot.name, found)
  }
  return {
    ok: true,
    text: template.text.replace(PLACEHOLDER, (_, name: string) => shown(bound.get(name))),
    values: [...bound].map(([name, { value }]) => ({ name, value })),
  }
}

function slotsOf({ text, variables = [] }: PromptTemplate): readonly Slot[] {
  const declared = new Set(variables.map(({ name }) => name))
  const named = new Set([...text.matchAll(PLACEHOLDER)].map(match => match[1] as string))
  return [...variables, ...[...named].filter(name => !declared.has(name)).map(name => ({ name, required: false }))]
}

/** Null is no value: nobody who leaves a field empty wants to read "null" in a prompt. */
function bind(slot: Slot, overrides: JsonObject, values: VariableValues): Bound | undefined {
  const override = own(overrides, slot.name)
  if (override !== undefined && override !== null) return { value: override, from: 'author' }
  const from = slot.source ?? 'input'
  const value = from === 'input' ? inputOf(slot, values.input) : valueAt(slot, values[from])
  if (value !== undefined && value !== null) return { value, from }
  const { required, defaultValue } = slot
  if (required || defaultValue === undefined || defaultValue === null) return undefined
  return { value: defaultValue, from: 'author' }
}

/** A task that has no such field is itself what `{{task}}` and `{{input}}` stand for. */
function inputOf(slot: Slot, task: Json): Json | undefined {
  const value = valueAt(slot, task)
  return value === undefined && ['task', 'input'].includes(slot.name) ? task : value
}

function valueAt({ name, extractPath }: Slot, source: Json): Json | undefined {
  if (extractPath === undefined) return isObject(source) ? own(source, name) : undefined
  const path = extractPath.replace(/^\$?\.?/, '').replace(/\[(\d+)\]/g, '.$1')
  return path === '' ? source : at(source, path.replace(/^\./, ''))
}

function shown(bound: Bound | undefined): string {
  if (bound === undefined) return ''
  const { value, from } = bound
  const text = typeof value === 'string' ? value : canonicalJson(value)
  return from === 'input' || from === 'variable' ? fenced(from, text) : withoutMarker(text, 'UNTRUSTED')
}

const typeOf = (value: Json): string => (Array.isArray(value) ? 'array' : typeof value)

const placeOf = ({ name, source = 'input', extractPath }: Slot): string => `${source} ${extractPath ?? name}`

const problem = ({ templateId, version }: PromptTemplate, what: string): PromptProblem => ({
  ok: false,
  code: 'prompt_variable_unresolved',
  message: `the prompt ${templateId}@${version} ${what}`,
})
