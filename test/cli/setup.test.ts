import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { beforeEach, describe, expect, test } from 'vitest'

/** A clone in miniature, with an `npm` and a `tsc` that write down when they are called. */
let clone: string
let calls: string
const at = (...parts: string[]) => path.join(clone, ...parts)
const repository = path.resolve(import.meta.dirname, '../..')

beforeEach(() => {
  clone = fs.mkdtempSync(path.join(os.tmpdir(), 'assay-setup-'))
  calls = at('calls.log')
  for (const folder of ['scripts', 'src/core/workflow/nodes', 'fake', 'test'])
    fs.mkdirSync(at(folder), { recursive: true })
  for (const name of ['setup', 'generate', 'contract', 'requirements', 'test-titles', 'build']) {
    fs.copyFileSync(path.join(repository, `scripts/${name}.mjs`), at(`scripts/${name}.mjs`))
  }
  write('package.json', '{"type": "module"}')
  write('package-lock.json', '{"packages": {"": {}, "node_modules/a": {"version": "1.0.0"}}}')
  write('tsconfig.json', '{}')
  write('tsconfig.base.json', '{}')
  write('src/a.ts', 'export {}')
  write('src/query.sql', 'SELECT 1')
  write('fake/npm', `#!/bin/sh\nsleep 0.2\necho "npm $*" >> ${calls}\n${installs}\n`)
  fs.chmodSync(at('fake/npm'), 0o755)
  return () => fs.rmSync(clone, { recursive: true })
})

const installs = [
  'mkdir -p node_modules/typescript/bin',
  'cp package-lock.json node_modules/.package-lock.json',
  `printf '%s' 'require("fs").appendFileSync("calls.log", "tsc\\n"); if (require("fs").readFileSync("src/a.ts", "utf8").includes("oops")) { console.error("a.ts: oops"); process.exit(2) }' > node_modules/typescript/bin/tsc`,
  `printf '%s' '{"type": "commonjs"}' > node_modules/typescript/package.json`,
].join('\n')

const write = (name: string, text: string) => fs.writeFileSync(at(name), text)
const env = () => ({ ...process.env, PATH: `${at('fake')}:${process.env.PATH}` })
const setup = () => spawnSync(process.execPath, [at('scripts/setup.mjs')], { env: env(), encoding: 'utf8' })
const called = () =>
  fs.existsSync(calls)
    ? fs
        .readFileSync(calls, 'utf8')
        .trim()
        .split('\n')
        .map(line => line.split(' ')[0])
    : []

const ended = (child: ChildProcess) => new Promise<number | null>(resolve => child.on('exit', resolve))

describe('setup', () => {
  test('installs and builds once, then does nothing until something changes', () => {
    expect(setup()).toMatchObject({ status: 0, stdout: '' })
    expect(called()).toEqual(['npm', 'tsc'])
    expect(fs.readFileSync(at('dist/query.sql'), 'utf8')).toBe('SELECT 1')
    expect(setup()).toMatchObject({ status: 0, stdout: '', stderr: '' })
    expect(called()).toEqual(['npm', 'tsc'])
    write('src/b.ts', 'export {}')
    setup()
    expect(called()).toEqual(['npm', 'tsc', 'tsc'])
    write('src/b.test.ts', 'export {}')
    setup()
    expect(called()).toEqual(['npm', 'tsc', 'tsc'])
    write('package-lock.json', '{"packages": {"": {}, "node_modules/a": {"version": "1.0.1"}}}')
    setup()
    expect(called()).toEqual(['npm', 'tsc', 'tsc', 'npm'])
  })

  test('what was copied beside the code goes with its source', () => {
    setup()
    fs.rmSync(at('src/query.sql'))
    expect(setup().status).toBe(0)
    expect(fs.existsSync(at('dist/query.sql'))).toBe(false)
  })

  test('takes over what `npm install` by hand has installed', () => {
    spawnSync('npm', ['install'], { cwd: clone, env: env() })
    fs.rmSync(calls)
    expect(setup().status).toBe(0)
    expect(called()).toEqual(['tsc'])
  })

  test('a failed build is shown, fails the command, and is tried again', () => {
    write('src/a.ts', 'oops')
    const { status, stderr } = setup()
    expect(status).toBe(1)
    expect(stderr).toContain('a.ts: oops')
    expect(stderr).toContain('setup failed')
    expect(setup().status).toBe(1)
    write('src/a.ts', 'export {}')
    expect(setup().status).toBe(0)
  })

  test('does nothing in an installed package, which has no src', () => {
    fs.rmSync(at('src'), { recursive: true })
    expect(setup()).toMatchObject({ status: 0, stderr: '' })
    expect(called()).toEqual([])
  })

  test('several at once do the work once', async () => {
    const start = () => spawn(process.execPath, [at('scripts/setup.mjs')], { env: env() })
    expect(await Promise.all([start(), start(), start(), start()].map(ended))).toEqual([0, 0, 0, 0])
    expect(called()).toEqual(['npm', 'tsc'])
    expect(fs.readdirSync(at('dist')).filter(name => name.startsWith('.setup-lock'))).toEqual([])
  })

  test('a lock whose holder was killed is taken over', async () => {
    const first = spawn(process.execPath, [at('scripts/setup.mjs')], { env: env() })
    while (!fs.existsSync(at('dist/.setup-lock'))) await new Promise(resolve => setTimeout(resolve, 5))
    first.kill('SIGKILL')
    await ended(first)
    expect(fs.existsSync(at('dist/.setup-lock'))).toBe(true)
    const start = () => spawn(process.execPath, [at('scripts/setup.mjs')], { env: env() })
    expect(await Promise.all([start(), start(), start()].map(ended))).toEqual([0, 0, 0])
    expect(fs.existsSync(at('dist/.setup-lock'))).toBe(false)
  })
})

describe('generate', () => {
  const generate = (...args: string[]) =>
    spawnSync(process.execPath, [at('scripts/generate.mjs'), ...args], { encoding: 'utf8' })

  test('adding a node type means adding one file', () => {
    for (const name of ['sub-workflow.ts', 'noop.ts', 'noop.test.ts']) write(`src/core/workflow/nodes/${name}`, '')
    expect(generate().status).toBe(0)
    expect(fs.readFileSync(at('src/core/workflow/nodes/registry.ts'), 'utf8')).toBe(
      `// Generated by scripts/generate.mjs from the files in this folder. Do not edit.
import type { NodeType } from '../node-type.js'
import { noopNode } from './noop.js'
import { subWorkflowNode } from './sub-workflow.js'

export const coreNodeTypes: readonly NodeType[] = [
  noopNode,
  subWorkflowNode,
]

/** Each of them with what its configuration is made of. */
export type CoreNode =
  | typeof noopNode
  | typeof subWorkflowNode
`,
    )
  })

  test('--check writes nothing and fails when something is out of date', () => {
    expect(generate('--check')).toMatchObject({ status: 1 })
    expect(fs.existsSync(at('docs/requirements.md'))).toBe(false)
    generate()
    expect(generate('--check')).toMatchObject({ status: 0, stdout: '' })
    write('src/core/workflow/nodes/new.ts', '')
    expect(generate('--check').stdout).toContain('src/core/workflow/nodes/registry.ts is out of date')
  })
})
