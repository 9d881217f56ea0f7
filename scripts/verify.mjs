/**
 * Everything that must hold, in one command: `npm test`, `npm run verify` and CI are this. Static checks count as one
 * test each. The last line of output is always `N passed, N failed`. Arguments go to vitest: `npm test -- src/core`.
 */
import { spawn } from 'node:child_process'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
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
    for (const [name, ...command] of STATIC_CHECKS) results.push(await timed(name, () => runCheck(command)))
    results.push(await timed('tests', runTests))
  }
  const passed = results.reduce((sum, result) => sum + result.passed, 0)
  const failed = results.reduce((sum, result) => sum + result.failed, 0)
  say('')
  for (const name of results.flatMap(result => result.names ?? [])) say(`failed: ${name}`)
  for (const result of results)
    say(`${result.failed === 0 ? 'ok  ' : 'FAIL'}  ${result.name.padEnd(24)} ${result.seconds} s`)
  process.exitCode = failed === 0 ? 0 : 1
  say(`${passed} passed, ${failed} failed`)
}

async function timed(name, step) {
  const start = performance.now()
  const { passed, failed, output = '', names } = await step()
  const seconds = ((performance.now() - start) / 1000).toFixed(1)
  if (failed > 0 && output !== '') say(`\n── ${name} ──\n${output.trimEnd()}`)
  return { name, passed, failed, seconds, names }
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

async function runCheck(command) {
  const { code, output } = await run(command)
  return verdict(code === 0, output)
}

async function runTests() {
  const report = path.join(fs.mkdtempSync(path.join(os.tmpdir(), 'assay-verify-')), 'report.json')
  const reporters = ['--reporter=default', '--reporter=json', `--outputFile.json=${report}`]
  const projects = ['--project=unit', '--project=system']
  const { code } = await run([bin('vitest'), 'run', ...projects, ...reporters, ...process.argv.slice(2)], 'inherit')
  if (!fs.existsSync(report)) return { passed: 0, failed: 1, output: 'vitest ended without a report' }
  const { numPassedTests, numFailedTests, testResults } = JSON.parse(fs.readFileSync(report, 'utf8'))
  fs.rmSync(path.dirname(report), { recursive: true })
  // A file that could not be loaded has no test that says so, nor has an error outside any test.
  const isBroken = file => file.status === 'failed' && !file.assertionResults.some(test => test.status === 'failed')
  const failed = numFailedTests + testResults.filter(isBroken).length
  const names = testResults.flatMap(file =>
    file.assertionResults
      .filter(test => test.status === 'failed')
      .map(test => `${path.relative(root, file.name)}: ${test.fullName}: ${firstLine(test.failureMessages[0])}`),
  )
  return { passed: numPassedTests, failed: failed === 0 && code !== 0 ? 1 : failed, names }
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
