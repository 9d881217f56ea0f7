import path from 'node:path'
import { lineOf, type Source } from './source.js'

/** What may know what. A file belongs to the first layer whose `place` it is in. */
type Layer = {
  readonly place: string
  /** Own places it may import besides itself: a folder (`core/`) or a file (`engine/ports.ts`). */
  readonly ours: readonly string[]
  /** Own places it may import for types only. */
  readonly types?: readonly string[]
  /** Packages, or every one but those that open sockets. */
  readonly packages: readonly string[] | 'any'
}

const NODE = ['node:*']

export const LAYERS: readonly Layer[] = [
  { place: 'core/', ours: [], packages: ['@marcbachmann/cel-js', 're2js'] },
  { place: 'engine/', ours: ['core/'], packages: ['node:crypto', 'canonicalize'] },
  { place: 'store/postgres/', ours: ['store/', 'core/', 'engine/ports.ts'], packages: [...NODE, 'pg'] },
  { place: 'store/', ours: ['core/', 'engine/ports.ts'], packages: [...NODE, '@photostructure/sqlite'] },
  { place: 'wire/', ours: ['core/'], types: ['engine/api.ts', 'engine/ports.ts'], packages: ['typebox'] },
  { place: 'http/', ours: ['core/', 'wire/', 'engine/api.ts', 'engine/ports.ts'], packages: 'any' },
  { place: 'conformance/', ours: ['core/', 'wire/', 'http/', 'engine/api.ts', 'engine/ports.ts'], packages: 'any' },
  { place: 'log-check/', ours: [], packages: ['node:crypto'] },
  { place: 'client/', ours: [], types: ['wire/'], packages: [...NODE, 'eventsource-parser', 'typebox'] },
  { place: 'project/', ours: ['core/json.ts'], packages: [...NODE, 'yaml'] },
  { place: 'config.ts', ours: ['core/json.ts', 'project/'], packages: NODE },
  { place: 'system.ts', ours: [], types: ['engine/ports.ts'], packages: NODE },
  { place: 'package-version.ts', ours: [], packages: NODE },
  { place: 'cli/commands/serve.ts', ours: ['cli/', 'client/', 'config.ts', 'project/', 'host.ts'], packages: 'any' },
  {
    place: 'cli/',
    ours: [
      'client/',
      'config.ts',
      'project/',
      'log-check/',
      'wire/',
      'system.ts',
      'package-version.ts',
      'core/json.ts',
    ],
    packages: [...NODE, 'commander', 'picocolors'],
  },
  { place: 'user-schema/', ours: ['core/', 'engine/ports.ts'], packages: 'any' },
  { place: 'telemetry/', ours: ['core/', 'engine/ports.ts', 'engine/api.ts'], packages: 'any' },
  { place: 'testing/', ours: ['core/', 'engine/', 'store/', 'log-check/'], packages: 'any' },
  { place: 'host.ts', ours: ['*'], packages: 'any' },
]

export type Violation = { readonly file: string; readonly line: number; readonly rule: string; readonly found: string }

/** Paths are relative to `src/`. */
export function check(sources: readonly Source[]): Violation[] {
  return sources.flatMap(source => [...checkImports(source), ...checkSockets(source), ...checkCode(source)])
}

function checkImports(source: Source): Violation[] {
  const layer = LAYERS.find(({ place }) => isIn(source.file, place))
  if (layer === undefined) {
    return [
      { file: source.file, line: 1, rule: 'known layer', found: 'add this place to LAYERS and say what it may know' },
    ]
  }
  return source.imports
    .filter(({ from, typeOnly }) => !isAllowed(source.file, layer, from, typeOnly))
    .map(({ from, line }) => ({ file: source.file, line, rule: `${layer.place} imports`, found: from }))
}

function isAllowed(file: string, layer: Layer, from: string, typeOnly: boolean): boolean {
  if (from === '(computed)') return false
  if (!from.startsWith('.')) return layer.packages === 'any' || layer.packages.some(name => isPackage(from, name))
  const target = path.posix.join(path.posix.dirname(file), from).replace(/\.js$/, '.ts')
  const places = [layer.place, ...layer.ours, ...(typeOnly ? (layer.types ?? []) : [])]
  return places.some(place => place === '*' || isIn(target, place))
}

const isIn = (file: string, place: string): boolean => (place.endsWith('/') ? file.startsWith(place) : file === place)

const isPackage = (from: string, name: string): boolean =>
  name === 'node:*' ? from.startsWith('node:') : from === name || from.startsWith(`${name}/`)

const SOCKETS = /^(?:node:)?(?:net|http|https|http2|tls|dgram|undici)$/
const MAY_OPEN_SOCKETS = ['http/', 'peers/', 'client/', 'testing/']

function checkSockets(source: Source): Violation[] {
  if (MAY_OPEN_SOCKETS.some(place => isIn(source.file, place))) return []
  const rule = 'sockets only in http, peers and client'
  const imported = source.imports
    .filter(({ from, typeOnly }) => !typeOnly && SOCKETS.test(from))
    .map(({ from, line }) => ({ file: source.file, line, rule, found: from }))
  return [...imported, ...find(source, rule, /(?<![.\w])fetch\s*\(|\bnew (?:WebSocket|EventSource)\b/g)]
}

type CodeRule = {
  readonly rule: string
  readonly pattern: RegExp
  readonly only?: readonly string[]
  readonly except?: readonly string[]
}

const CODE_RULES: readonly CodeRule[] = [
  {
    rule: 'the environment is read in config.ts only',
    pattern: /\bprocess\s*(?:\?\.|\.)\s*env\b|\bprocess\s*\[|\benv\b[^;=()]*\}\s*=\s*process\b/g,
    except: ['config.ts'],
  },
  {
    rule: 'the clock and chance are read in system.ts only',
    pattern:
      /\bDate\s*\.\s*now\b|\bnew\s+Date\s*(?:\(\s*\)|(?![\w(\s]))|\bMath\s*\.\s*random\b|\bperformance\s*\.\s*now\b/g,
    except: ['system.ts', 'testing/'],
  },
  {
    rule: 'the core is pure',
    pattern:
      /\basync\b|\bawait\b|\bnew\s+Date\s*\(\s*\)|\bDate\s*\.\s*now\b|\bMath\s*\.\s*random\b|\bglobalThis\b|\bset(?:Timeout|Interval|Immediate)\b|\bprocess\s*\./g,
    only: ['core/'],
  },
  { rule: 'no code from text', pattern: /(?<![.\w])eval\s*\(|\bnew\s+Function\b|(?<![.\w])Function\s*\(/g },
  {
    rule: 'no error is dropped',
    pattern:
      /\bcatch\s*(?:\([^)]*\)\s*)?\{\s*\}|\.catch\s*\(\s*(?:\(\s*\w*\s*\)|\w+)\s*=>\s*(?:\{\s*\}|undefined|null|void 0)\s*\)/g,
  },
]

function checkCode(source: Source): Violation[] {
  const vm = source.imports
    .filter(({ from }) => /^(?:node:)?vm$/.test(from))
    .map(({ from, line }) => ({ file: source.file, line, rule: 'no code from text', found: from }))
  const found = CODE_RULES.filter(
    ({ only, except }) =>
      (only === undefined || only.some(place => isIn(source.file, place))) &&
      !except?.some(place => isIn(source.file, place)),
  ).flatMap(({ rule, pattern }) => find(source, rule, pattern))
  return [...vm, ...found]
}

const find = (source: Source, rule: string, pattern: RegExp): Violation[] =>
  [...source.code.matchAll(pattern)].map(match => ({
    file: source.file,
    line: lineOf(source.code, match.index),
    rule,
    found: match[0].trim(),
  }))
