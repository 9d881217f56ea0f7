/**
 * Everything that must hold, in one command: `npm test`, `npm run verify` and CI are this. Static checks count as one
 * test each. The last line of output is always `N passed, N failed`. Arguments go to vitest: `npm test -- src/core`.
 * A test of whole processes that fails is run once more; if it then passes it is named as flaky in the last lines.
 */
import { spawn } from 'node:child_process'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { contractProblems } from './contract.mjs'
import { generate } from './generate.mjs'
import { root, SetupFailed, setup } from './setup.mjs'

const bin = name => path.join(root, 'node_modules', '.bin', name)

const STATIC_CHECKS = [
  ['format', bin('biome'), 'format', '--md-formatter-enabled=false', '.'],
  ['lint (biome)', bin('biome'), 'lint', '--error-on-warnings', '.'],
  ['lint (oxlint)', bin('oxlint'), '--deny-warnings'],
  ['types', bin('tsc'), '-p', 'tsconfig.json', '--noEmit', '--incremental', 'false'],
  ['types of tests', bin('tsc'), '-p', 'tsconfig.test.json'],
  ['types of the pure core', bin('tsc'), '-p', 'src/core/tsconfig.json'],
  ['unused code', bin('knip'), '--no-progress', '--no-config-hints'],
]

async function main() {
  const results = [await timed('setup', runSetup)]
  if (results[0].failed === 0) {
    results.push(await timed('generated files', checkGenerated))
    results.push(await timed('contract and tests', checkContract))
    for (const [name, ...command] of STATIC_CHECKS) results.push(await timed(name, () => runCheck(command)))
    results.push(await timed('tests', runTests))
  }
  const passed = results.reduce((sum, result) => sum + result.passed, 0)
  const failed = results.reduce((sum, result) => sum + result.failed, 0)
  say('')
  for (const name of results.flatMap(result => result.names ?? [])) say(`failed: ${name}`)
  for (const name of results.flatMap(result => result.flaky ?? [])) say(`flaky, passed when run again: ${name}`)
  for (const result of results)
    say(`${result.failed === 0 ? 'ok  ' : 'FAIL'}  ${result.name.padEnd(24)} ${result.seconds} s`)
  process.exitCode = failed === 0 ? 0 : 1
  say(`${passed} passed, ${failed} failed`)
}

async function timed(name, step) {
  const start = performance.now()
  const { passed, failed, output = '', names, flaky } = await step()
  const seconds = ((performance.now() - start) / 1000).toFixed(1)
  if (failed > 0 && output !== '') say(`\n── ${name} ──\n${output.trimEnd()}`)
  return { name, passed, failed, seconds, names, flaky }
}

const verdict = (isGood, output) => (isGood ? { passed: 1, failed: 0 } : { passed: 0, failed: 1, output })

async function runSetup() {
  try {
    await setup()
    return verdict(true)
  } catch (error) {
    if (!(error instanceof SetupFailed)) throw error
    return verdict(false, error.message)
  }
}

function checkGenerated() {
  const stale = generate({ check: true })
  return verdict(stale.length === 0, `out of date: ${stale.join(', ')}\nrun \`npm run generate\``)
}

function checkContract() {
  const problems = contractProblems(root)
  return verdict(problems.length === 0, problems.join('\n'))
}

async function runCheck(command) {
  const { code, output } = await run(command)
  return verdict(code === 0, output)
}

async function runTests() {
  const first = await runVitest(process.argv.slice(2))
  if (first.report === undefined) return { passed: 0, failed: 1, output: 'vitest ended without a report' }
  const failures = failuresOf(first.report)
  const again = failures.filter(failure => isProcessLevel(failure.file))
  // Tests of whole processes share two cores with each other: one that fails is run once more, alone, and told.
  const second = again.length === 0 ? undefined : await runVitest([...new Set(again.map(failure => failure.file))])
  const stillFailing = second?.report === undefined ? failures : failuresOf(second.report)
  const isFlaky = failure => again.includes(failure) && !stillFailing.some(other => other.id === failure.id)
  const failed = failures.filter(failure => !isFlaky(failure))
  const flaky = failures.filter(isFlaky)
  const isUnexplained = failures.length === 0 && first.code !== 0
  return {
    passed: first.report.numPassedTests + flaky.filter(failure => failure.isTest).length,
    failed: failed.length + (isUnexplained ? 1 : 0),
    names: failed.map(failure => failure.line),
    flaky: flaky.map(failure => failure.line),
  }
}

/** Runs vitest and reads what it has to say about each test. */
async function runVitest(args) {
  const report = path.join(fs.mkdtempSync(path.join(os.tmpdir(), 'assay-verify-')), 'report.json')
  const reporters = ['--reporter=default', '--reporter=json', `--outputFile.json=${report}`]
  const projects = ['--project=unit', '--project=system']
  const { code } = await run([bin('vitest'), 'run', ...projects, ...reporters, ...args], 'inherit')
  const text = fs.existsSync(report) ? fs.readFileSync(report, 'utf8') : undefined
  fs.rmSync(path.dirname(report), { recursive: true })
  return { code, report: text === undefined ? undefined : JSON.parse(text) }
}

/** One failure per test; a file that could not be loaded, or that fails outside any test, counts as one. */
function failuresOf(report) {
  return report.testResults.flatMap(result => {
    const file = path.relative(root, result.name)
    const tests = result.assertionResults.filter(test => test.status === 'failed')
    if (result.status === 'failed' && tests.length === 0) {
      return [{ file, id: file, isTest: false, line: `${file}: ${firstLine(result.message)}` }]
    }
    return tests.map(test => ({
      file,
      id: `${file}: ${test.fullName}`,
      isTest: true,
      line: `${file}: ${test.fullName}: ${firstLine(test.failureMessages[0])}`,
    }))
  })
}

/** Suites that draw their cases at random: a failure there is a finding, not an accident of timing. */
const NEVER_AGAIN = ['architecture', 'histories', 'model', 'simulation']

const isProcessLevel = file => {
  const [top, suite] = file.split(path.sep)
  return top === 'test' && !NEVER_AGAIN.includes(suite)
}

const firstLine = (text = '') => text.split('\n', 1)[0].slice(0, 500)

function run([command, ...args], output = 'pipe') {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { cwd: root, stdio: ['ignore', output, output] })
    let text = ''
    child.stdout?.on('data', chunk => (text += chunk))
    child.stderr?.on('data', chunk => (text += chunk))
    child.on('error', reject)
    child.on('close', code => resolve({ code, output: text }))
  })
}

const say = line => process.stdout.write(`${line}\n`)

await main()
