/**
 * Reads TypeScript source just well enough to check it: comments gone, and for rules about code also the contents of
 * strings and regular expressions, so that a word in a message is never taken for a call.
 */
export type Source = {
  readonly file: string
  /** Without comments. */
  readonly text: string
  /** Without comments and without what is inside quotes. */
  readonly code: string
  readonly imports: readonly Import[]
}

export type Import = { readonly from: string; readonly typeOnly: boolean; readonly line: number }

export function readSource(file: string, raw: string): Source {
  const text = blank(raw, false)
  return { file, text, code: blank(raw, true), imports: importsOf(text) }
}

export const lineOf = (text: string, index: number): number => text.slice(0, index).split('\n').length

const STATIC = /\b(?:import|export)\s+(type\s)?(?:[\w*{][^'";]*?\sfrom\s*)?['"]([^'"\n]+)['"]/g
const DYNAMIC = /\b(?:import|require)\s*\(\s*(?:['"`]([^'"`]*)['"`])?/g

function importsOf(text: string): Import[] {
  const found: Import[] = []
  for (const match of text.matchAll(STATIC)) {
    found.push({ from: match[2] as string, typeOnly: isTypeOnly(match[0]), line: lineOf(text, match.index) })
  }
  for (const match of text.matchAll(DYNAMIC)) {
    // A computed specifier could be anything; no rule allows this name.
    found.push({ from: match[1] ?? '(computed)', typeOnly: false, line: lineOf(text, match.index) })
  }
  return found
}

/** `import type …`, and `import { type A, type B } …`. */
function isTypeOnly(statement: string): boolean {
  if (/^(?:import|export)\s+type\s/.test(statement)) return true
  const names = /^import\s*\{([^}]*)\}/.exec(statement)?.[1]
  return names?.split(',').every(name => name.trim() === '' || /^type\s/.test(name.trim())) ?? false
}

const QUOTES = new Set(["'", '"', '`'])
const BEFORE_REGEX = /(?:^|[=(,:[!&|?{};+\-*%<>~^]|\breturn|\btypeof|\bcase)\s*$/

/** Replaces comments, and with `quoted` the inside of literals, by spaces; line breaks stay. */
function blank(raw: string, quoted: boolean): string {
  let out = ''
  /** Open template literals: how many `{` are open inside the current `${`. */
  const templates: number[] = []
  for (let i = 0; i < raw.length; ) {
    const char = raw[i] as string
    let end = i + 1
    let keep = true
    if (raw.startsWith('//', i)) {
      end = upTo(raw, i, /\n|$/g)
      keep = false
    } else if (raw.startsWith('/*', i)) {
      end = upTo(raw, i + 2, /\*\//g) + 2
      keep = false
    } else if (char === '`' || (char === '}' && templates.at(-1) === 0)) {
      if (char === '}') templates.pop()
      end = templateEnd(raw, i + 1)
      if (raw.startsWith('${', end - 2)) templates.push(0)
      keep = !quoted
    } else if (QUOTES.has(char)) {
      end = upTo(raw, i + 1, char === "'" ? /(?<!\\)(?:\\\\)*'|\n/g : /(?<!\\)(?:\\\\)*"|\n/g, true)
      keep = !quoted
    } else if (char === '/' && BEFORE_REGEX.test(out.slice(-40))) {
      end = regexEnd(raw, i + 1)
      keep = !quoted
    } else if (char === '{' || char === '}') {
      const depth = templates.pop()
      if (depth !== undefined) templates.push(depth + (char === '{' ? 1 : -1))
    }
    const piece = raw.slice(i, end)
    out += keep ? piece : piece.length < 3 ? piece.replace(/[^\n`'"]/g, ' ') : hollow(piece)
    i = end
  }
  return out
}

/** Keeps the first and last character when they are quotes, so that the shape of the code stays visible. */
function hollow(piece: string): string {
  const edge = (char: string) => (QUOTES.has(char) ? char : ' ')
  const inside = piece.slice(1, -1).replace(/[^\n]/g, ' ')
  const last = piece.at(-1) as string
  return edge(piece[0] as string) + inside + (last === '\n' ? '\n' : edge(last))
}

function upTo(raw: string, from: number, end: RegExp, inclusive = false): number {
  end.lastIndex = from
  const match = end.exec(raw)
  if (match === null) return raw.length
  return inclusive ? match.index + match[0].length : match.index
}

/** The index after the closing backtick, or after the next `${`. */
function templateEnd(raw: string, from: number): number {
  for (let i = from; i < raw.length; i++) {
    if (raw[i] === '\\') i++
    else if (raw[i] === '`') return i + 1
    else if (raw.startsWith('${', i)) return i + 2
  }
  return raw.length
}

function regexEnd(raw: string, from: number): number {
  let inClass = false
  for (let i = from; i < raw.length && raw[i] !== '\n'; i++) {
    if (raw[i] === '\\') i++
    else if (raw[i] === '[') inClass = true
    else if (raw[i] === ']') inClass = false
    else if (raw[i] === '/' && !inClass) return i + 1
  }
  return from
}
