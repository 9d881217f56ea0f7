import path from 'node:path'
import { lineOf, type Source } from './source.js'

/** What may know what. A file belongs to the first layer whose `place` it is in. */
type Layer = {
  readonly place: string
  /** Own places it may import besides itself: a folder (`core/`) or a file (`engine/api.ts`). */
  readonly ours: readonly string[]
  /** Own places it may import for types only. */
  readonly types?: readonly string[]
  /** Packages, or every one but those that open sockets. */
  readonly packages: readonly string[] | 'any'
}

const NODE = ['node:*']
const PORTS = 'engine/ports/'

export const LAYERS: readonly Layer[] = [
  { place: 'core/', ours: [], packages: ['@marcbachmann/cel-js', 're2js', 'typebox'] },
  { place: 'digest.ts', ours: ['core/json.ts'], packages: ['node:crypto'] },
  { place: 'trace.ts', ours: ['core/traceparent.ts', 'digest.ts'], packages: [] },
  { place: 'lru.ts', ours: [], packages: [] },
  { place: 'timing/', ours: [], types: [PORTS], packages: [] },
  { place: 'calendar/', ours: ['lru.ts'], types: [PORTS], packages: ['croner'] },
  { place: 'engine/', ours: ['core/', 'digest.ts', 'lru.ts', 'timing/', 'trace.ts'], packages: ['node:crypto'] },
  {
    place: 'standards/',
    ours: ['core/', 'digest.ts', 'lru.ts', 'engine/plans/agent-workflow.ts'],
    types: ['engine/api.ts', PORTS],
    packages: ['re2js', 'typebox'],
  },
  { place: 'store/postgres/', ours: ['store/', 'core/', 'timing/', PORTS], packages: [...NODE, 'pg'] },
  { place: 'store/', ours: ['core/', 'timing/', PORTS], packages: [...NODE, '@photostructure/sqlite'] },
  { place: 'wire/', ours: ['core/'], types: ['engine/api.ts', PORTS], packages: ['typebox'] },
  {
    place: 'http/',
    ours: [
      'core/',
      'digest.ts',
      'lru.ts',
      'timing/',
      'wire/',
      'engine/api.ts',
      'engine/journal/text-of-bytes.ts',
      'engine/queries/ancestry.ts',
      'engine/queries/artifacts.ts',
      'engine/queries/failed-node.ts',
      'engine/queries/shown-hash.ts',
      'engine/queries/steps.ts',
      'engine/queries/transcript.ts',
      'engine/queries/verifications.ts',
      'engine/queries/withheld.ts',
      'peers/causation.ts',
      'webhooks/circuit.ts',
      PORTS,
    ],
    types: ['calibration/verdicts.ts', 'engine/commitments/', 'engine/journal/'],
    packages: 'any',
  },
  {
    place: 'agents/models/',
    ours: [
      'core/',
      'digest.ts',
      'timing/',
      'agents/answer/',
      'agents/tools/fence.ts',
      'agents/token-bound.ts',
      'egress/fetch.ts',
      'egress/stream.ts',
    ],
    types: ['agents/settings.ts', 'egress/', 'secrets/', PORTS],
    packages: [...NODE, '@ai-sdk', 'yaml'],
  },
  {
    place: 'agents/answer/',
    ours: ['core/', 'digest.ts', 'agents/token-bound.ts'],
    types: ['secrets/', PORTS],
    packages: ['jsonrepair'],
  },
  { place: 'agents/token-bound.ts', ours: [], packages: [] },
  { place: 'agents/markers.ts', ours: [], packages: [] },
  { place: 'agents/settings.ts', ours: [], types: ['core/'], packages: [] },
  {
    place: 'agents/agents.ts',
    ours: ['agents/'],
    types: ['core/', 'egress/', 'secrets/', PORTS],
    packages: [],
  },
  { place: 'egress/', ours: [], types: [PORTS], packages: NODE },
  {
    place: 'webhooks/',
    ours: ['core/', 'digest.ts', 'lru.ts', 'timing/', 'trace.ts', 'vault/vault.ts', 'wire/render.ts'],
    types: ['egress/', 'engine/api.ts', 'vault/', PORTS],
    packages: ['node:crypto'],
  },
  {
    place: 'conformance/',
    ours: ['core/', 'wire/', 'http/', 'project/document.ts', 'engine/api.ts', PORTS],
    packages: 'any',
  },
  {
    place: 'retention/',
    ours: ['core/problem.ts', 'engine/log/chain.ts', 'timing/'],
    types: ['engine/api.ts', PORTS],
    packages: ['node:timers/promises'],
  },
  {
    place: 'peers/',
    ours: ['core/', 'timing/', 'egress/stream.ts'],
    types: ['agents/settings.ts', 'egress/', 'secrets/', PORTS],
    packages: ['eventsource-parser'],
  },
  { place: 'log-check/', ours: [], packages: ['node:crypto'] },
  { place: 'client/', ours: [], types: ['wire/'], packages: [...NODE, 'eventsource-parser', 'typebox'] },
  {
    place: 'project/',
    ours: [
      'core/goal/goal-schema.ts',
      'core/json.ts',
      'core/names.ts',
      'core/schema/',
      'core/supervisor/decision.ts',
      'core/invocation/',
      'core/budget/',
      'retention/rules.ts',
    ],
    types: ['agents/settings.ts', 'core/quotas.ts', 'engine/api.ts', 'peers/settings.ts', PORTS],
    packages: [...NODE, 'typebox', 'yaml'],
  },
  {
    place: 'config.ts',
    ours: ['core/json.ts', 'core/schema/', 'core/invocation/', 'core/budget/', 'digest.ts', 'project/'],
    types: [
      'agents/settings.ts',
      'core/goal/goal-schema.ts',
      'core/quotas.ts',
      'peers/settings.ts',
      'retention/rules.ts',
    ],
    packages: NODE,
  },
  { place: 'system.ts', ours: [], types: [PORTS], packages: NODE },
  {
    place: 'agents/tools/',
    ours: [
      'core/',
      'timing/',
      'agents/markers.ts',
      'agents/token-bound.ts',
      'egress/',
      'secrets/',
      'package-version.ts',
    ],
    types: ['agents/settings.ts', PORTS],
    packages: [...NODE, '@modelcontextprotocol/client'],
  },
  {
    place: 'secrets/',
    ours: ['core/', 'workers/'],
    types: ['agents/settings.ts', 'timing/', PORTS],
    packages: NODE,
  },
  { place: 'vault/', ours: ['core/', 'digest.ts', 'lru.ts'], types: [PORTS], packages: NODE },
  { place: 'link-secrets.ts', ours: [], packages: NODE },
  {
    place: 'agents/catalog/',
    ours: ['core/', 'digest.ts', 'agents/prompts/', 'project/document.ts'],
    types: [PORTS],
    packages: [...NODE, 'semver', 'typebox'],
  },
  { place: 'agents/prompts/', ours: ['core/', 'digest.ts', 'agents/markers.ts'], packages: [] },
  {
    place: 'agents/brief.ts',
    ours: ['core/', 'agents/actor.ts', 'agents/prompts/', 'agents/remembered.ts', 'agents/token-bound.ts'],
    types: ['agents/', 'secrets/', PORTS],
    packages: [],
  },
  { place: 'agents/remembered.ts', ours: ['core/', 'digest.ts'], types: ['agents/', PORTS], packages: [] },
  { place: 'agents/actor.ts', ours: ['core/', 'agents/catalog/catalog-agent.ts'], types: ['agents/'], packages: [] },
  { place: 'package-version.ts', ours: [], packages: NODE },
  {
    place: 'cli/serving/serve.ts',
    ours: ['cli/', 'client/', 'config.ts', 'core/schema/', 'project/', 'system.ts', 'host.ts'],
    types: ['ground.ts'],
    packages: 'any',
  },
  {
    place: 'cli/serving/take-up-changes.ts',
    ours: ['cli/', 'project/', 'agents/catalog/folder-watch.ts', 'system.ts'],
    types: ['config.ts', 'reload.ts', PORTS],
    packages: ['picocolors'],
  },
  {
    place: 'cli/commands/project/check.ts',
    ours: ['cli/', 'config.ts', 'check-project.ts'],
    packages: 'any',
  },
  {
    place: 'cli/',
    ours: [
      'client/',
      'config.ts',
      'project/',
      'log-check/',
      'audit/',
      'receipts/',
      'wire/',
      'system.ts',
      'link-secrets.ts',
      'package-version.ts',
      'core/json.ts',
      'core/budget/budget.ts',
      'core/replay/compare.ts',
      'core/run/redaction.ts',
      'core/schema/suggest.ts',
      'core/view/',
      'core/workflow/unknown-inputs.ts',
      'calibration/',
    ],
    types: [PORTS],
    packages: [...NODE, 'commander', 'picocolors'],
  },
  {
    place: 'audit/data-folder.ts',
    ours: ['audit/', 'store/open-store.ts'],
    packages: [],
  },
  {
    place: 'audit/',
    ours: [
      'digest.ts',
      'timing/rounds.ts',
      'core/',
      'engine/api.ts',
      'engine/log/chain.ts',
      'engine/runtime/gated-points.ts',
      'store/gate-rules.ts',
      PORTS,
    ],
    packages: NODE,
  },
  {
    place: 'receipts/',
    ours: [
      'core/',
      'digest.ts',
      'audit/',
      'engine/api.ts',
      'engine/runtime/gated-points.ts',
      'store/gate-rules.ts',
      PORTS,
    ],
    types: ['timing/'],
    packages: ['typebox'],
  },
  {
    place: 'calibration/',
    ours: ['core/', 'lru.ts'],
    types: [PORTS],
    packages: [],
  },
  {
    place: 'probes/',
    ours: ['core/', 'processes/', 'timing/', 'workers/', 'system.ts'],
    types: ['egress/', PORTS],
    packages: [...NODE, 're2js'],
  },
  {
    place: 'steps/code/load-hooks.ts',
    ours: [],
    packages: [...NODE, '@swc/wasm-typescript'],
  },
  {
    place: 'steps/',
    ours: ['agents/tools/mcp/message-lines.ts', 'core/', 'digest.ts', 'processes/'],
    types: ['agents/settings.ts', 'agents/tools/', 'egress/', 'secrets/', 'timing/', PORTS],
    packages: [...NODE, 'typebox'],
  },
  { place: 'processes/', ours: [], types: [PORTS], packages: NODE },
  { place: 'workers/', ours: ['timing/'], packages: NODE },
  {
    place: 'user-schema/',
    ours: ['core/', 'digest.ts', 'lru.ts', 'workers/', PORTS],
    types: ['timing/'],
    packages: 'any',
  },
  { place: 'telemetry/', ours: ['core/', PORTS, 'engine/api.ts'], packages: 'any' },
  {
    place: 'testing/test-host.ts',
    ours: ['testing/', 'client/', 'config.ts', 'embedding.ts', 'host.ts'],
    types: ['core/json.ts'],
    packages: NODE,
  },
  {
    place: 'testing/',
    ours: ['core/', 'calendar/', 'digest.ts', 'engine/', 'store/', 'log-check/'],
    types: ['vault/'],
    packages: 'any',
  },
  {
    place: 'agent-directory.ts',
    ours: ['agents/tools/descriptor.ts', 'wire/agents.ts'],
    types: ['agents/agents.ts', 'http/deps.ts'],
    packages: [],
  },
  {
    place: 'http-settings.ts',
    ours: ['config.ts', 'core/run/version.ts', 'http/config.ts', 'package-version.ts', 'peers/settings.ts'],
    packages: [],
  },
  { place: 'host-id.ts', ours: ['config.ts', 'digest.ts'], types: [PORTS], packages: [] },
  { place: 'host-load.ts', ours: [], types: ['engine/', 'ground.ts', 'http/', 'timing/'], packages: NODE },
  { place: 'host.ts', ours: ['*'], packages: 'any' },
  { place: 'furnish.ts', ours: ['*'], packages: 'any' },
  { place: 'reload.ts', ours: ['config.ts', 'check-project.ts', 'project/'], packages: [] },
  { place: 'check-project.ts', ours: ['*'], packages: 'any' },
  { place: 'ground.ts', ours: ['*'], packages: 'any' },
  {
    place: 'embedding.ts',
    ours: ['client/', 'config.ts', 'core/schema/', 'host.ts', 'project/'],
    types: [PORTS],
    packages: [],
  },
  // The entry points of the package: they have no code of their own, and nothing here is built on them.
  {
    place: 'index.ts',
    ours: ['config.ts', 'embedding.ts', 'steps/code/define-step.ts'],
    types: ['client/', 'core/json.ts', PORTS],
    packages: [],
  },
]

/** Modules that the operator wrote as tools and steps are found in a folder, so their names cannot be known here. */
const LOAD_MODULES = ['agents/tools/local/load-module.ts', 'steps/code/child-main.ts']

export type Violation = { readonly file: string; readonly line: number; readonly rule: string; readonly found: string }

/** Paths are relative to `src/`. */
export function check(sources: readonly Source[]): Violation[] {
  return sources.flatMap(source => [
    ...checkImports(source),
    ...checkSockets(source),
    ...checkNamedCallers(source),
    ...checkCode(source),
    ...checkStatements(source),
  ])
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
  if (from === '(computed)') return LOAD_MODULES.includes(file)
  if (!from.startsWith('.')) return layer.packages === 'any' || layer.packages.some(name => isPackage(from, name))
  const target = path.posix.join(path.posix.dirname(file), from).replace(/\.js$/, '.ts')
  const places = [layer.place, ...layer.ours, ...(typeOnly ? (layer.types ?? []) : [])]
  return places.some(place => place === '*' || isIn(target, place))
}

const isIn = (file: string, place: string): boolean => (place.endsWith('/') ? file.startsWith(place) : file === place)

const isPackage = (from: string, name: string): boolean =>
  name === 'node:*' ? from.startsWith('node:') : from === name || from.startsWith(`${name}/`)

const SOCKETS = /^(?:node:)?(?:net|http|https|http2|tls|dgram|undici)$/
const MAY_OPEN_SOCKETS = ['egress/', 'http/', 'peers/', 'client/', 'testing/']

function checkSockets(source: Source): Violation[] {
  if (MAY_OPEN_SOCKETS.some(place => isIn(source.file, place))) return []
  const rule = 'sockets only in egress, http, peers and client'
  const imported = source.imports
    .filter(({ from, typeOnly }) => !typeOnly && SOCKETS.test(from))
    .map(({ from, line }) => ({ file: source.file, line, rule, found: from }))
  return [...imported, ...find(source, rule, /(?<![.\w])fetch\s*\(|\bnew (?:WebSocket|EventSource)\b/g)]
}

/** Who may begin a connection. `client/` runs in the CLI and talks to this host. */
const MAY_CALL_OUT = ['egress/', 'peers/', 'client/', 'testing/']
const NAMED_CALLERS =
  /\bimport\s*\{[^}]*\b(?:request|get|connect|createConnection|Socket)\b[^}]*\}\s*from\s*['"](?:node:)?(?:https?|http2|net|tls)['"]/g

function checkNamedCallers(source: Source): Violation[] {
  if (MAY_CALL_OUT.some(place => isIn(source.file, place))) return []
  return [...source.text.matchAll(NAMED_CALLERS)]
    .filter(([statement]) => !statement.startsWith('import type'))
    .map(({ 0: found, index }) => {
      return { file: source.file, line: lineOf(source.text, index), rule: 'requests leave through egress', found }
    })
}

/** Where keys, nonces and tokens are made: nothing that could be foreseen may stand in for their chance. */
const DRAWS_SECRETS = [
  'vault/',
  'audit/signing-key.ts',
  'link-secrets.ts',
  'http/auth/key-cache.ts',
  'webhooks/webhooks.ts',
  'store/claim-tokens.ts',
  // Runs in the programs of others, which have no ports of ours.
  'client/',
]

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
    rule: 'chance comes from system.ts, but for keys, nonces and tokens',
    pattern: /\brandom(?:Bytes|UUID|Int|Fill|FillSync)\b|\bgetRandomValues\b/g,
    except: ['system.ts', 'testing/', ...DRAWS_SECRETS],
  },
  {
    rule: 'the core is pure',
    pattern:
      /\basync\b|\bawait\b|\bnew\s+Date\s*\(\s*\)|\bDate\s*\.\s*now\b|\bMath\s*\.\s*random\b|\bglobalThis\b|\bset(?:Timeout|Interval|Immediate)\b|\bprocess\s*\./g,
    only: ['core/'],
  },
  {
    // http/ has sockets because it is called, not to call others: see `checkNamedCallers` for what it imports by name.
    rule: 'requests leave through egress',
    pattern:
      /(?<![.\w])fetch\s*\(|=\s*fetch\b|\bglobalThis\s*(?:\?\.|\.)\s*fetch\b|\bglobalThis\s*\[|\bhttps?\s*\.\s*(?:request|get)\b|\bhttp2\s*\.\s*connect\b|\b(?:net|tls)\s*\.\s*(?:connect|createConnection)\b|\bnew\s+(?:net\s*\.\s*)?(?:Socket|WebSocket|EventSource)\b/g,
    except: MAY_CALL_OUT,
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

/** Where SQL stands in `.sql` files beside the code. */
const SQL_IN_FILES = ['store/sqlite/', 'store/postgres/']

/** Modules in which a statement may stand, with the reason. What only sets a connection up (PRAGMA, BEGIN) is none. */
const MAY_WRITE_SQL: { readonly [file: string]: string } = {}

const STATEMENT =
  /\b(?:SELECT\s+[\w*('"?:$]|INSERT\s+(?:OR\s+\w+\s+)?INTO\b|UPDATE\s+\S+\s+SET\b|DELETE\s+FROM\b|(?:CREATE|DROP|ALTER)\s+(?:UNIQUE\s+)?(?:TABLE|INDEX|TRIGGER|VIEW|FUNCTION|SCHEMA)\b|WITH\s+(?:RECURSIVE\s+)?\w+[^;]*\bAS\s*\()/g

/** In quotes only: what is left of the text where the code is blank. */
function checkStatements(source: Source): Violation[] {
  if (!SQL_IN_FILES.some(place => isIn(source.file, place)) || Object.hasOwn(MAY_WRITE_SQL, source.file)) return []
  return [...source.text.matchAll(STATEMENT)]
    .filter(({ index }) => source.code[index] === ' ')
    .map(({ 0: found, index }) => {
      return { file: source.file, line: lineOf(source.text, index), rule: 'statements stand in .sql files', found }
    })
}
