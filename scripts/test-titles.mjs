/**
 * Reads the titles of tests off their source: `describe`, `test` and `it`, whatever stands between (`.skipIf(…)`, `.each(…)`).
 * Of a table, each text that names a requirement is a title of its own, put where the title says `%s`; a table that is a
 * constant of the same file is looked up. What only running would tell, such as `${…}`, stays as it is written.
 */
const CALLS = new Set(['describe', 'test', 'it'])
const TABLES = new Set(['each', 'for'])
const CLOSING = { '(': ')', '[': ']', '{': '}' }
const REQUIREMENT = /\bR-[A-Z]+-\d+/
const PLACE = /%[sjoip#]|\$\w+/

export function titlesOf(text) {
  const tokens = tokensOf(text)
  const titles = []
  for (let i = 0; i < tokens.length; i++) {
    if (tokens[i].kind !== 'word' || !CALLS.has(tokens[i].text) || tokens[i - 1]?.text === '.') continue
    const call = callAt(tokens, i)
    if (call === undefined) continue
    titles.push(call.title)
    for (const row of call.rows)
      titles.push(PLACE.test(call.title) ? call.title.replace(PLACE, () => row) : `${call.title}: ${row}`)
  }
  return titles
}

function callAt(tokens, start) {
  const rows = []
  let member = ''
  for (let at = start + 1; at < tokens.length; ) {
    const { text } = tokens[at]
    if (text === '.') {
      member = tokens[at + 1]?.text ?? ''
      at += 2
    } else if (text === '(') {
      if (tokens[at + 1]?.kind === 'string') return { title: tokens[at + 1].text, rows }
      const end = closing(tokens, at)
      if (TABLES.has(member)) rows.push(...rowsOf(tokens, at, end))
      at = end + 1
    } else if (text === '<') at = afterTypes(tokens, at)
    else return undefined
  }
  return undefined
}

/** After the `>` that ends type arguments; that of an arrow is none. */
function afterTypes(tokens, open) {
  let depth = 0
  for (let i = open; i < tokens.length; i++) {
    if (tokens[i].text === '<') depth++
    else if (tokens[i].text === '>' && tokens[i - 1].text !== '=' && --depth === 0) return i + 1
  }
  return tokens.length
}

function rowsOf(tokens, from, to) {
  const inside = tokens.slice(from + 1, to)
  const constants = inside.filter(({ kind }) => kind === 'word').flatMap(({ text }) => initializer(tokens, text))
  return [...inside, ...constants]
    .filter(({ kind, text }) => kind === 'string' && REQUIREMENT.test(text))
    .map(({ text }) => text)
}

/** The tokens of `const NAME = …` where that is a literal. */
function initializer(tokens, name) {
  const declared = tokens.findIndex((token, i) => token.text === name && tokens[i - 1]?.text === 'const')
  if (declared === -1) return []
  const equals = tokens.findIndex((token, i) => i > declared && token.text === '=' && tokens[i + 1]?.text !== '>')
  if (equals === -1 || CLOSING[tokens[equals + 1]?.text] === undefined) return []
  return tokens.slice(equals + 1, closing(tokens, equals + 1))
}

function closing(tokens, open) {
  let depth = 0
  for (let i = open; i < tokens.length; i++) {
    if (tokens[i].kind !== 'mark') continue
    if (CLOSING[tokens[i].text]) depth++
    else if (Object.values(CLOSING).includes(tokens[i].text) && --depth === 0) return i
  }
  return tokens.length
}

const SKIPPED = /\s+|\/\/[^\n]*|\/\*[\s\S]*?\*\//y
const WORD = /[\w$]+/y
const QUOTED = /'((?:[^'\\\n]|\\.)*)'|"((?:[^"\\\n]|\\.)*)"/y
const PATTERN = /\/(?![*/])(?:[^\\/[\n]|\\.|\[(?:[^\]\\\n]|\\.)*\])+\/[a-z]*/y
/** After one of these a slash begins a pattern; after anything else it divides. */
const BEFORE_PATTERN = new Set([
  '(',
  ',',
  '=',
  ':',
  '[',
  '!',
  '&',
  '|',
  '?',
  '{',
  '}',
  ';',
  '>',
  '+',
  'return',
  'case',
  undefined,
])

function tokensOf(text) {
  const tokens = []
  for (let i = 0; i < text.length; ) {
    const take = pattern => {
      pattern.lastIndex = i
      const found = pattern.exec(text)
      if (found) i = pattern.lastIndex
      return found
    }
    if (take(SKIPPED)) continue
    const word = take(WORD)
    const quoted = word ? null : take(QUOTED)
    if (word) tokens.push({ kind: 'word', text: word[0] })
    else if (quoted) tokens.push({ kind: 'string', text: unescaped(quoted[1] ?? quoted[2]) })
    else if (text[i] === '`') {
      const end = templateEnd(text, i + 1)
      tokens.push({ kind: 'string', text: unescaped(text.slice(i + 1, end)) })
      i = end + 1
    } else if (!(BEFORE_PATTERN.has(tokens.at(-1)?.text) && take(PATTERN)))
      tokens.push({ kind: 'mark', text: text[i++] })
  }
  return tokens
}

const unescaped = text => text.replace(/\\(.)/g, '$1').replace(/\s+/g, ' ')

/** The index of the closing backtick; what stands in `${…}` may have backticks of its own. */
function templateEnd(text, from) {
  let depth = 0
  for (let i = from; i < text.length; i++) {
    if (text[i] === '\\') i++
    else if (text.startsWith('${', i)) depth++
    else if (depth > 0 && text[i] === '`') i = templateEnd(text, i + 1)
    else if (depth > 0 && text[i] === '}') depth--
    else if (depth === 0 && text[i] === '`') return i
  }
  return text.length
}
