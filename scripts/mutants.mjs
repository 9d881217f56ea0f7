/**
 * How much the tests would notice: draws one-line mutants of the source at random and runs the tests near each of them.
 *
 *     node scripts/mutants.mjs [--seed 7] [--count 40] [--area core,engine,store,http]
 *     node scripts/mutants.mjs --bounds [WORD]
 *
 *  1. What is judged is the last commit, in a copy of the tree beside the temporary files; this one is not touched.
 *  2. The same seed draws the same mutants of the same commit, as many from one area as from another.
 *  3. A mutant is killed by a test that fails with it and passes without it, or by tests that come to an end only
 *     without it.
 *  4. With `--bounds` each bound in `test/architecture/bounds.json` is taken away in its turn (those with that word in their
 *     name), and the tests that the list names for it are run: none may survive.
 *  5. Survivors are for a reader: some cannot be told from the original. The exit code only says whether it could run.
 */
import { spawn, spawnSync } from 'node:child_process'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { parseArgs } from 'node:util'
import { SyntaxKind } from 'typescript/unstable/ast'
import { API } from 'typescript/unstable/sync'
import { root } from './setup.mjs'

/** Per area the tests that see a mutant which those next to it have let pass: of the area, then of what stands on it. */
const SUITES = {
  core: () => [
    ['src/core/', 'src/engine/runtime/gates.test.ts', 'test/histories/'],
    ['test/model/', 'src/engine/', 'src/log-check/'],
  ],
  engine: () => [['src/engine/'], ['test/http/', 'test/e2e/verification/', 'test/e2e/tools/', 'test/simulation/']],
  store: file => [[`test/contract/store/${/^src\/store\/(memory|sqlite|postgres)\//.exec(file)?.[1] ?? ''}`]],
  http: () => [
    ['src/http/', 'test/http/'],
    ['test/e2e/webhooks/', 'test/attacks/'],
  ],
}

/** A test that waits too long fails after this; what never comes to wait is ended after the others. */
const TEST_MS = 60_000
const NEAR_LIMIT_MS = 10 * 60_000
const LIMIT_MS = 20 * 60_000
const MOST_NEAR = 30

async function main() {
  const { seed, count, areas, bounds } = readArguments()
  const copy = makeCopy()
  process.on('SIGINT', () => {
    stop()
    removeCopy(copy)
    process.exit(130)
  })
  try {
    const sources = readSources(copy)
    const mutants =
      bounds === undefined ? draw(areas, count, seed, pointsOf(copy, sources)) : withoutBounds(sources, bounds)
    say(
      bounds === undefined
        ? `${mutants.length} mutants of ${areas.join(', ')}, seed ${seed}`
        : `${mutants.length} bounds`,
    )
    const results = []
    for (const mutant of mutants) results.push(await judge(copy, sources, mutant))
    summarise(results, seed)
  } finally {
    removeCopy(copy)
  }
}

function readArguments() {
  const options = {
    seed: { type: 'string' },
    count: { type: 'string' },
    area: { type: 'string' },
    bounds: { type: 'boolean' },
  }
  const { values, positionals } = parseArgs({ options, allowPositionals: true })
  const bounds = values.bounds ? (positionals[0] ?? '') : undefined
  const seed = Number(values.seed ?? Math.floor(Math.random() * 1_000_000))
  const count = Number(values.count ?? 40)
  const areas = (values.area ?? Object.keys(SUITES).join(',')).split(',')
  const unknown = areas.filter(area => !Object.hasOwn(SUITES, area))
  if (unknown.length > 0) throw new Error(`no such area: ${unknown.join(', ')}; there are ${Object.keys(SUITES)}`)
  if (!Number.isSafeInteger(seed) || !(count >= 1)) throw new Error('--seed and --count take whole numbers')
  return { seed, count, areas, bounds }
}

/** A worktree of the last commit that shares node_modules and builds its own dist/, without a look at the types. */
function makeCopy() {
  const copy = path.join(fs.mkdtempSync(path.join(os.tmpdir(), 'assay-mutants-')), 'tree')
  git('worktree', 'add', '--detach', '--quiet', copy, 'HEAD')
  fs.symlinkSync(fs.realpathSync(path.join(root, 'node_modules')), path.join(copy, 'node_modules'))
  const config = path.join(copy, 'tsconfig.json')
  const { compilerOptions, ...others } = JSON.parse(fs.readFileSync(config, 'utf8'))
  fs.writeFileSync(config, JSON.stringify({ ...others, compilerOptions: { ...compilerOptions, noCheck: true } }))
  return copy
}

function removeCopy(copy) {
  git('worktree', 'remove', '--force', copy)
  fs.rmSync(path.dirname(copy), { recursive: true, force: true })
}

function git(...args) {
  const { status, stderr } = spawnSync('git', args, { cwd: root, encoding: 'utf8' })
  if (status !== 0) throw new Error(`git ${args[0]}: ${stderr}`)
}

/** The text of every file in src/, by its path from the root. */
function readSources(copy) {
  const names = fs.readdirSync(path.join(copy, 'src'), { recursive: true }).filter(name => name.endsWith('.ts'))
  const files = names.map(name => path.posix.join('src', name.split(path.sep).join('/'))).sort()
  return new Map(files.map(file => [file, fs.readFileSync(path.join(copy, file), 'utf8')]))
}

const isTest = file => file.endsWith('.test.ts')
const isMutable = file => !isTest(file) && !file.includes('/testing/') && !file.endsWith('/registry.ts')

/** One mutant for each bound of the list whose name has the word in it. */
function withoutBounds(sources, word) {
  const list = JSON.parse(fs.readFileSync(path.join(root, 'test', 'architecture', 'bounds.json'), 'utf8'))
  return list
    .filter(([what]) => what.includes(word))
    .map(([what, file, was, becomes, tests]) => {
      const start = sources.get(file).indexOf(was)
      const line = sources.get(file).slice(0, start).split('\n').length
      return { file, line, start, end: start + was.length, becomes, shown: what, suites: [tests] }
    })
}

/** All mutants there could be, by area. The compiler's API is not stable yet: its version is pinned in package.json. */
function pointsOf(copy, sources) {
  const api = new API({ cwd: copy })
  const config = path.join(copy, 'tsconfig.json')
  const { program } = api.updateSnapshot({ openProjects: [config] }).getProject(config)
  const points = Object.fromEntries(Object.keys(SUITES).map(area => [area, []]))
  for (const [file, text] of sources) {
    const area = file.split('/')[1]
    if (!points[area] || !isMutable(file)) continue
    collect(program.getSourceFile(path.join(copy, file)), text, (start, end, becomes) => {
      const was = text.slice(start, end)
      // One line, so that whoever reads the list sees all of it.
      if (was.includes('\n')) return
      const line = text.slice(0, start).split('\n').length
      const shown = `${around(text, start, end, was)}  →  ${around(text, start, end, becomes)}`
      points[area].push({ area, file, line, start, end, becomes, shown })
    })
  }
  api.close()
  return points
}

const OPERATORS = {
  [SyntaxKind.LessThanToken]: '<=',
  [SyntaxKind.LessThanEqualsToken]: '<',
  [SyntaxKind.GreaterThanToken]: '>=',
  [SyntaxKind.GreaterThanEqualsToken]: '>',
  [SyntaxKind.EqualsEqualsEqualsToken]: '!==',
  [SyntaxKind.ExclamationEqualsEqualsToken]: '===',
  [SyntaxKind.AmpersandAmpersandToken]: '||',
  [SyntaxKind.BarBarToken]: '&&',
  [SyntaxKind.PlusToken]: '-',
  [SyntaxKind.MinusToken]: '+',
  [SyntaxKind.PlusEqualsToken]: '=',
  [SyntaxKind.MinusEqualsToken]: '+=',
}

const LEAVES = new Set([SyntaxKind.ReturnStatement, SyntaxKind.ContinueStatement, SyntaxKind.BreakStatement])
const SKIPPED = new Set([
  SyntaxKind.ImportDeclaration,
  SyntaxKind.ExportDeclaration,
  SyntaxKind.InterfaceDeclaration,
  SyntaxKind.TypeAliasDeclaration,
])
const isType = kind => kind >= SyntaxKind.FirstTypeNode && kind <= SyntaxKind.LastTypeNode

/** Calls `add(start, end, becomes)` for every place in the tree where one change would make another program. */
function collect(node, text, add) {
  if (SKIPPED.has(node.kind) || isType(node.kind)) return
  const replace = (part, becomes) => add(startOf(part, text), part.end, becomes)
  switch (node.kind) {
    case SyntaxKind.BinaryExpression: {
      const becomes = OPERATORS[node.operatorToken.kind]
      const joinsText = [node.left, node.right].some(part => `'"\``.includes(text[startOf(part, text)]))
      if (becomes && !(['-', '='].includes(becomes) && joinsText)) replace(node.operatorToken, becomes)
      break
    }
    case SyntaxKind.PrefixUnaryExpression:
      if (node.operator === SyntaxKind.ExclamationToken) add(startOf(node, text), startOf(node.operand, text), '')
      break
    case SyntaxKind.TrueKeyword:
    case SyntaxKind.FalseKeyword:
      replace(node, node.kind === SyntaxKind.TrueKeyword ? 'false' : 'true')
      break
    case SyntaxKind.IfStatement: {
      const { expression, thenStatement, elseStatement } = node
      const [only, ...more] = thenStatement.statements ?? [thenStatement]
      if (!elseStatement && more.length === 0 && LEAVES.has(only?.kind)) replace(expression, 'false')
      else if (isPlain(expression)) replace(expression, `!${text.slice(startOf(expression, text), expression.end)}`)
      break
    }
    case SyntaxKind.ConditionalExpression:
      if (isPlain(node.condition)) add(startOf(node, text), startOf(node, text), '!')
  }
  node.forEachChild(child => collect(child, text, add))
}

/** A condition without an operator of its own to be changed. */
const isPlain = ({ kind }) =>
  kind === SyntaxKind.Identifier || kind === SyntaxKind.CallExpression || kind === SyntaxKind.PropertyAccessExpression

/** Where the node itself begins, after the space and the comments that belong to it. */
const startOf = (node, text) =>
  node.pos + /^(?:\s|\/\/.*|\/\*[\s\S]*?\*\/)*/.exec(text.slice(node.pos, node.end))[0].length

/** The line with `becomes` in the place, cut to what stands around it. */
function around(text, start, end, becomes) {
  const from = Math.max(text.lastIndexOf('\n', start - 1) + 1, start - 40)
  const to = Math.min(text.indexOf('\n', end), end + 40)
  return (text.slice(from, start) + becomes + text.slice(end, to)).trim()
}

/** `count` of them, the areas in turn. */
function draw(areas, count, seed, points) {
  const random = randomFrom(seed)
  const rounds = Math.ceil(count / areas.length)
  const drawn = Array.from({ length: rounds }, () =>
    areas.flatMap(area => points[area].splice(Math.floor(random() * points[area].length), 1)),
  )
  return drawn.flat().slice(0, count)
}

/** mulberry32: numbers from 0 to 1 that follow from the seed. */
function randomFrom(seed) {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

const VERDICTS = { passed: 'survived', failed: 'killed', late: 'killed', broken: 'unclear' }

/** Puts the mutant in, runs what is near and then what is around it, and takes the mutant out. */
async function judge(copy, sources, mutant) {
  const { file, line, start, end, becomes, shown, area, suites } = mutant
  const began = performance.now()
  const text = sources.get(file)
  const near = suites ?? nearTests(sources, file)
  const put = content => fs.writeFileSync(path.join(copy, file), content)
  put(text.slice(0, start) + becomes + text.slice(end))
  let heard = { state: 'passed' }
  let last = {}
  const wider = suites ? [] : SUITES[area](file).map(around => ({ suites: around, limit: LIMIT_MS }))
  for (const stage of [{ suites: near, limit: NEAR_LIMIT_MS }, ...wider]) {
    if (heard.state !== 'passed' || stage.suites.length === 0) continue
    last = stage
    heard = await runTests(copy, stage)
  }
  put(text)
  const alone = await withoutMutant(copy, heard, last)
  const state = alone.state === 'passed' ? VERDICTS[heard.state] : 'unclear'
  const seconds = Math.round((performance.now() - began) / 1000)
  const why = heard.state === 'late' ? 'does not end' : (heard.test ?? heard.output)
  say(`${state.padEnd(8)}  ${file}:${line}  ${shown}  (${seconds} s${why ? `; ${why}` : ''})`)
  return { ...mutant, state }
}

/** What failed, or did not end, must pass without the mutant: on a busy machine tests are late for other reasons. */
function withoutMutant(copy, heard, stage) {
  if (heard.state === 'failed') return runTests(copy, { ...stage, suites: [heard.file] }, heard.test)
  return heard.state === 'late' ? runTests(copy, stage) : { state: 'passed' }
}

/** Unit tests of the same folder, and those that import the file themselves or through one other; nearest first. */
function nearTests(sources, file) {
  const importers = of => [...sources.keys()].filter(other => importsOf(other, sources.get(other)).includes(of))
  const direct = importers(file)
  const beside = [...sources.keys()].filter(other => path.dirname(other) === path.dirname(file))
  const remote = direct.filter(other => !isTest(other)).flatMap(importers)
  return [...new Set([...direct, ...beside, ...remote])].filter(isTest).slice(0, MOST_NEAR)
}

/** What a file imports of our own for more than its types. */
const importsOf = (file, text) =>
  [...text.matchAll(/^(?:import|export)(?! type) [^;'"]*?from '(\.[^']+)\.js'/gm)].map(
    ([, name]) => `${path.posix.join(path.dirname(file), name)}.ts`,
  )

async function runTests(copy, { suites, limit }, name) {
  const report = path.join(path.dirname(copy), 'report.json')
  fs.rmSync(report, { force: true })
  const only = name === undefined ? [] : ['--testNamePattern', `^${name.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&')}$`]
  const projects = ['--project=unit', '--project=system']
  const how = ['--bail=1', `--testTimeout=${TEST_MS}`, '--passWithNoTests', '--reporter=json', `--outputFile=${report}`]
  const vitest = path.join(copy, 'node_modules', 'vitest', 'vitest.mjs')
  const { code, output } = await run(copy, [vitest, 'run', ...projects, ...how, ...only, ...suites], limit)
  if (code === undefined) return { state: 'late' }
  if (!fs.existsSync(report)) return { state: 'broken', output: output.trim().split('\n').at(-1) }
  const { testResults } = JSON.parse(fs.readFileSync(report, 'utf8'))
  const failures = testResults.flatMap(({ name: file, status, assertionResults }) => {
    const test = assertionResults.find(result => result.status === 'failed')?.fullName
    return status === 'failed' ? [{ state: 'failed', file: path.relative(copy, file), test }] : []
  })
  const passed = { state: code === 0 ? 'passed' : 'broken' }
  return failures.find(({ test }) => test !== undefined) ?? failures[0] ?? passed
}

/** Ends what is running, with all that it has started. */
let stop = () => undefined

/** Resolves with no code when it took longer than `limitMs`. */
function run(copy, args, limitMs) {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, args, { cwd: copy, stdio: ['ignore', 'pipe', 'pipe'], detached: true })
    let [output, isLate] = ['', false]
    for (const stream of [child.stdout, child.stderr]) stream.on('data', chunk => (output += chunk))
    stop = () => process.kill(-child.pid, 'SIGKILL')
    const timer = setTimeout(() => {
      isLate = true
      stop()
    }, limitMs)
    child.on('error', reject)
    child.on('close', code => {
      stop = () => undefined
      clearTimeout(timer)
      resolve({ code: isLate ? undefined : code, output })
    })
  })
}

function summarise(results, seed) {
  const of = state => results.filter(result => result.state === state)
  for (const { file, line, shown } of of('survived')) say(`survivor  ${file}:${line}  ${shown}`)
  const [killed, unclear] = [of('killed').length, of('unclear').length]
  const judged = results.length - unclear
  if (unclear > 0) say(`${unclear} unclear: the tests fail without the mutant, or cannot run`)
  say(`${killed} of ${judged} killed (${Math.round((100 * killed) / Math.max(judged, 1))} %), seed ${seed}`)
}

const say = line => process.stdout.write(`${line}\n`)

await main()
