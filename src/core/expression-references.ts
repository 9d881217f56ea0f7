import type { SyntaxNode } from './expression-charges.js'

/** What an expression reads: a name that it does not define itself, and the member of it that is asked for by name. */
export type Reference = { readonly root: string; readonly member?: string }

/** Functions whose first argument is a name of their own, for what the others say. */
const BINDING = new Set(['all', 'exists', 'exists_one', 'map', 'filter', 'bind'])

/** Names of the language. */
const LANGUAGE = new Set('string bool int uint double map list bytes null_type type google cel optional'.split(' '))

/** Everything that is read, in order of appearance. */
export function referencesIn(root: SyntaxNode): Reference[] {
  const found: Reference[] = []
  visit(root, new Set(), found)
  return found
}

function visit(value: unknown, bound: ReadonlySet<string>, found: Reference[]): void {
  if (Array.isArray(value)) {
    for (const item of value) visit(item, bound, found)
    return
  }
  if (!isSyntaxNode(value)) return
  const { op, args } = value
  const isRead = (name: string) => !bound.has(name) && !LANGUAGE.has(name)
  if (op === 'id') {
    if (isRead(String(args))) found.push({ root: String(args) })
  } else if (op === '.' || op === '[]') {
    const [object, member] = args as [SyntaxNode, unknown]
    const name = memberName(member)
    if (object.op !== 'id' || name === undefined) return visit(args, bound, found)
    if (isRead(String(object.args))) found.push({ root: String(object.args), member: name })
  } else if (op === 'rcall') {
    const [name, receiver, parameters] = args as [string, SyntaxNode, readonly SyntaxNode[]]
    visit(receiver, bound, found)
    const [first, ...rest] = parameters
    if (!BINDING.has(name) || first?.op !== 'id') return visit(parameters, bound, found)
    visit(rest, new Set([...bound, String(first.args)]), found)
  } else visit(args, bound, found)
}

/** `a.b` and `a["b"]` alike; nothing where the name is worked out. */
const memberName = (member: unknown): string | undefined => {
  if (typeof member === 'string') return member
  return isSyntaxNode(member) && member.op === 'value' && typeof member.args === 'string' ? member.args : undefined
}

const isSyntaxNode = (value: unknown): value is SyntaxNode =>
  typeof value === 'object' && value !== null && 'op' in value && 'args' in value
