import type { Active, NodeState } from './state.js'

/** A fresh copy of the state, still private to one call of evolve: its fields are replaced, never what they hold. */
export type Draft = { -readonly [Field in keyof Active]: Active[Field] }

export const putNode = (draft: Draft, index: number, node: NodeState): void => {
  draft.nodes = replaced(draft.nodes, index, node)
}

export function replaced<T>(list: readonly T[], index: number, value: T): T[] {
  const copy = list.slice()
  copy[index] = value
  return copy
}

export const without = (indexes: readonly number[], index: number): readonly number[] =>
  indexes.includes(index) ? indexes.filter(other => other !== index) : indexes

/** With one more index, ascending. */
export function including(indexes: readonly number[], index: number): readonly number[] {
  if (indexes.includes(index)) return indexes
  const at = indexes.findIndex(other => other > index)
  return at < 0 ? [...indexes, index] : [...indexes.slice(0, at), index, ...indexes.slice(at)]
}
