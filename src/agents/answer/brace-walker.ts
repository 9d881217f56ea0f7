/** So often a brace is tried as a beginning, which bounds the time that a text full of braces takes. */
const MAX_STARTS = 16

/** Parts of a text that begin with `{` and end with the `}` that closes it, as JSON counts braces; outermost first. */
export function objectsIn(text: string): readonly string[] {
  const parts: string[] = []
  let start = text.indexOf('{')
  for (let tries = 0; start >= 0 && tries < MAX_STARTS; tries += 1) {
    const end = closing(text, start)
    if (end !== undefined) parts.push(text.slice(start, end + 1))
    start = text.indexOf('{', (end ?? start) + 1)
  }
  return parts
}

function closing(text: string, start: number): number | undefined {
  let depth = 0
  let quoted = false
  for (let at = start; at < text.length; at += 1) {
    const char = text[at]
    if (quoted) {
      if (char === '\\') at += 1
      else if (char === '"') quoted = false
    } else if (char === '"') quoted = true
    else if (char === '{') depth += 1
    else if (char === '}') {
      depth -= 1
      if (depth === 0) return at
    }
  }
  return undefined
}
