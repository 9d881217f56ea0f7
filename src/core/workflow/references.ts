import { readsOf } from '../expression.js'
import type { Reference } from '../expression-references.js'
import { isObject } from '../json.js'
import { closestName, suggestion } from '../schema/suggest.js'
import { FEEDBACK_INPUT } from '../verification/feedback.js'
import type { EdgeCondition, WorkflowDefinition } from './definition.js'

/** What expressions of a workflow may read, and what they do read. */

/** `input` is another name of `inputs`. */
const ROOTS = ['inputs', 'input', 'variables', 'channels', 'configurable', 'nodes']
const EDGE_ROOTS = [...ROOTS, 'output']

/** Everything that an expression names and that can be nothing: each entry says what was probably meant. */
export function unknownNames(source: string, more: readonly string[], nodeIds: ReadonlyMap<string, unknown>): string[] {
  const roots = [...ROOTS, ...more]
  return distinct(
    readsOf(source).flatMap(({ root, member }) => {
      if (!roots.includes(root)) return [`reads "${root}", which is nothing${whatIs(root, roots, more, nodeIds)}`]
      return root === 'nodes' ? unknownNode(member, nodeIds) : []
    }),
  )
}

/** A node's id alone is a common slip, and so is a name that is a field of something. */
function whatIs(
  root: string,
  roots: readonly string[],
  more: readonly string[],
  nodeIds: ReadonlyMap<string, unknown>,
) {
  const close = closestName(root, roots)
  if (close !== undefined) return `; did you mean ${close}?`
  if (nodeIds.has(root)) return `; did you mean nodes${step(root)}?`
  return `; it can read ${[...ROOTS, ...more].join(', ')}, as in inputs.${root} or variables.${root}`
}

const step = (id: string): string => (/^[A-Za-z_]\w*$/.test(id) ? `.${id}` : `["${id}"]`)

function unknownNode(id: string | undefined, nodeIds: ReadonlyMap<string, unknown>): string[] {
  if (id === undefined || nodeIds.has(id)) return []
  const known = [...nodeIds.keys()]
  const close = closestName(id, known)
  const fix = close === undefined ? suggestion(id, known, 'nodes') : `; did you mean nodes${step(close)}?`
  return [`reads nodes${step(id)}, and there is no such node${fix}`]
}

/** The same of an edge's condition, in either of its forms. */
export function unknownInCondition(
  { type, left, expression }: EdgeCondition,
  nodeIds: ReadonlyMap<string, unknown>,
): string[] {
  if (expression !== undefined && (type ?? 'expression') === 'expression')
    return unknownNames(expression, ['output'], nodeIds).map(problem => `condition.expression ${problem}`)
  const [root, id] = left?.split('.') ?? []
  return root === 'nodes' ? unknownNode(id, nodeIds).map(problem => `condition.left ${problem}`) : []
}

/** What is read of the run's inputs and variables, with the place that reads it. */
export type Read = Reference & { readonly at: string }

export const readsOfExpression = (at: string, source: string): Read[] => readsOf(source).map(read => ({ ...read, at }))

export function readsOfCondition(at: string, { type, left, expression }: EdgeCondition): Read[] {
  if (expression !== undefined && (type ?? 'expression') === 'expression')
    return readsOfExpression(`${at}.condition.expression`, expression)
  const [root = '', member] = left?.split('.') ?? []
  return EDGE_ROOTS.includes(root) && member !== undefined ? [{ root, member, at: `${at}.condition.left` }] : []
}

/** Every name under which a run of this workflow may have a variable, besides its inputs. */
export function variablesOf({ nodes, variables, channels = {} }: WorkflowDefinition): Set<string> {
  const names = new Set([...variables.map(({ name }) => name), ...Object.keys(channels), FEEDBACK_INPUT])
  for (const { typeId, config } of nodes) {
    if (typeId === 'core.setVariable' && typeof config.name === 'string') names.add(config.name)
    if (typeof config.resultVariable === 'string') names.add(config.resultVariable)
    const { outputMapping, perWorkerOutputMappings } = config
    const maps = isObject(perWorkerOutputMappings) ? Object.values(perWorkerOutputMappings) : []
    for (const map of [outputMapping, ...maps]) if (isObject(map)) for (const name of Object.keys(map)) names.add(name)
  }
  return names
}

export const distinct = <T>(items: readonly T[]): T[] => [...new Set(items)]
