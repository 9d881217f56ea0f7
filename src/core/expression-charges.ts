/**
 * Where an expression is charged for what it does. Its text is written again with a function of the host's around whatever
 * takes longer the larger it is; each of them charges, and gives back what it was given (`expression.ts`).
 */

/** What of the parser's nodes is used. The text from `start` to `end` may begin inside of brackets that it closes. */
export type SyntaxNode = { readonly op: string; readonly args: unknown; readonly start: number; readonly end: number }

/** The expression with its charges, and what it takes besides them. */
export type Charged = { readonly text: string; readonly steps: number }

/** For each thing that is charged inside of a pass: a refusal that is swallowed there costs about as much. */
const STEPS_PER_CHARGE = 40

/** Times of a named zone are worked out by the platform's calendar. */
const STEPS_PER_ZONE = 5_000

/** Functions that go through a list, once for each element. */
const MACROS = new Set(['all', 'exists', 'exists_one', 'map', 'filter'])

/** Functions whose time grows with what they are called on and with their argument, at once. */
const SEARCHES = new Set(['contains', 'indexOf', 'lastIndexOf', 'split', 'join'])

const COMPARISONS = new Set(['==', '!=', '<', '<=', '>', '>='])

/** What is no value, and cannot be weighed. */
const NAMESPACES = new Set(['cel', 'optional'])

export function withCharges(source: string, root: SyntaxNode): Charged {
  const edits = new Edits(source)
  const steps = visit(edits, root)
  return { text: edits.applied(), steps }
}

/** Notes where the node and those within it are charged; says what they take besides, not counting passes of a macro. */
function visit(edits: Edits, value: unknown): number {
  if (Array.isArray(value)) return value.reduce<number>((sum, item) => sum + visit(edits, item), 0)
  if (!isSyntaxNode(value)) return 0
  const { op, args } = value
  if (op === 'rcall') return visitMethod(edits, ...(args as [string, SyntaxNode, SyntaxNode[]]))
  if (op === 'call') return visitCall(edits, ...(args as [string, SyntaxNode[]]))
  const charges = op === '+' || op === 'in' || COMPARISONS.has(op) ? chargeOperands(edits, op, args as SyntaxNode[]) : 0
  return 1 + charges + visit(edits, args)
}

/** What is compared takes as long as the smaller of both; what is joined as both together. */
function chargeOperands(edits: Edits, op: string, operands: readonly SyntaxNode[]): number {
  if (op !== 'in' && operands.some(isLiteral)) return 0
  const [, right] = operands
  const charged = op === '+' ? operands : right ? [right] : []
  for (const operand of charged) edits.wrap(operand, 'assayWeighed')
  return charged.length * STEPS_PER_CHARGE
}

function visitMethod(edits: Edits, name: string, receiver: SyntaxNode, parameters: readonly SyntaxNode[]): number {
  if (MACROS.has(name)) {
    const close = edits.open(receiver, 'assayRepeated')
    const before = visit(edits, receiver)
    const pass = 1 + visit(edits, parameters.slice(1))
    close(`, ${pass}`)
    return 1 + STEPS_PER_CHARGE + before
  }
  if (receiver.op === 'id' && NAMESPACES.has(String(receiver.args))) return 1 + visit(edits, parameters)
  if (name === 'matches') edits.rename(name, 'matchesLinear', receiver.end)
  else if (SEARCHES.has(name)) {
    edits.wrap(receiver, 'assaySearched')
    if (parameters[0]) edits.wrap(parameters[0], 'assaySought')
  } else for (const operand of [receiver, ...parameters]) if (!isLiteral(operand)) edits.wrap(operand, 'assayWeighed')
  const zone = name.startsWith('get') && parameters.length > 0 ? STEPS_PER_ZONE : 0
  return 1 + zone + STEPS_PER_CHARGE * (1 + parameters.length) + visit(edits, [receiver, ...parameters])
}

function visitCall(edits: Edits, name: string, parameters: readonly SyntaxNode[]): number {
  if (name.startsWith('assay')) throw new Error(`${name} is no function of expressions`)
  // What `has` is given is a place, not a value.
  if (name === 'has') return 1 + STEPS_PER_CHARGE
  for (const parameter of parameters) if (!isLiteral(parameter)) edits.wrap(parameter, 'assayWeighed')
  return 1 + STEPS_PER_CHARGE * parameters.length + visit(edits, parameters)
}

const isSyntaxNode = (value: unknown): value is SyntaxNode =>
  typeof value === 'object' && value !== null && 'op' in value && 'args' in value

const isLiteral = ({ op }: SyntaxNode): boolean => op === 'value'

type Edit = { readonly at: number; readonly end: number; readonly text: string; readonly order: number }

/** Changes of a text, noted in any order. What is noted first stands outside of what is noted later. */
class Edits {
  readonly #edits: Edit[] = []

  constructor(private readonly source: string) {}

  wrap(node: SyntaxNode, name: string): void {
    this.open(node, name)('')
  }

  /** Begins a call around the node; what is returned ends it, with further arguments. */
  open(node: SyntaxNode, name: string): (more: string) => void {
    const at = this.#startOf(node)
    const order = this.#edits.length
    this.#edits.push({ at, end: at, text: `${name}(`, order })
    return more => this.#edits.push({ at: node.end, end: node.end, text: `${more})`, order: -order })
  }

  rename(name: string, to: string, from: number): void {
    const at = this.source.indexOf(name, from)
    this.#edits.push({ at, end: at + name.length, text: to, order: 0 })
  }

  applied(): string {
    let text = ''
    let from = 0
    for (const edit of this.#edits.sort((a, b) => a.at - b.at || a.order - b.order)) {
      text += this.source.slice(from, edit.at) + edit.text
      from = edit.end
    }
    return text + this.source.slice(from)
  }

  /** Where the node begins, with the brackets that are closed within it. */
  #startOf({ start, end }: SyntaxNode): number {
    let at = start
    for (let missing = unopened(this.source.slice(start, end)); missing > 0; ) {
      at -= 1
      const char = this.source[at] ?? ''
      if (char === '(') missing -= 1
      else if (!/\s/.test(char)) throw new Error('a bracket cannot be found; leave out comments')
    }
    return at
  }
}

/** How many round brackets a text closes that it does not open. */
function unopened(text: string): number {
  let depth = 0
  let lowest = 0
  for (const [token] of text.matchAll(TOKENS)) {
    if (token === '(') depth += 1
    if (token === ')') depth -= 1
    lowest = Math.min(lowest, depth)
  }
  return -lowest
}

/** Texts, comments and round brackets. */
const TOKENS =
  /[rR][bB]?(?:"""[\s\S]*?"""|'''[\s\S]*?'''|"[^"]*"|'[^']*')|"""(?:\\[\s\S]|[^\\])*?"""|'''(?:\\[\s\S]|[^\\])*?'''|"(?:\\[\s\S]|[^"\\])*"|'(?:\\[\s\S]|[^'\\])*'|\/\/[^\n]*|[()]/g
