import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { afterAll, afterEach, describe, expect, test } from 'vitest'
import { ManualClock } from '../../../src/testing/manual-clock.js'
import { type Rig, toolRig } from './rig.js'

const folder = mkdtempSync(path.join(os.tmpdir(), 'assay-local-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

let projects = 0
/** A project with these files in `tools/`. */
function project(files: { readonly [name: string]: string }): string {
  projects += 1
  const root = path.join(folder, `project-${projects}`)
  mkdirSync(path.join(root, 'tools'), { recursive: true })
  writeFileSync(path.join(root, 'package.json'), '{"type":"module"}')
  for (const [name, text] of Object.entries(files)) writeFileSync(path.join(root, 'tools', name), text)
  return root
}

const module = (run: string, more = ''): string =>
  `export default { description: 'A tool', inputSchema: { type: 'object' }, ${more} run: ${run} }`

let rig: Rig
afterEach(() => rig.close())

describe('tools that the operator wrote', () => {
  test('are named after their files, run with their arguments, and say what they return', async () => {
    rig = await toolRig({
      project: project({
        'words.mjs': module(
          '({ text }) => text.split(" ").length',
          "repeat: 'safe', safetyTier: 'pure', scopes: ['w'],",
        ),
        'say.js': module('async (_args, { effectId }) => "effect " + effectId'),
        'none.mjs': module('() => undefined'),
      }),
    })
    const found = await rig.tools.surface(['local:words', 'local:words.mjs', 'local:say'], new AbortController().signal)
    expect(found.map(({ terms, safetyTier }) => [terms.toolId, terms.repeat, terms.scopes, safetyTier])).toEqual([
      ['local:words', 'safe', ['w'], 'pure'],
      ['local:say', 'never', [], 'write'],
    ])
    expect((await rig.use('local:words', { text: 'a b c' })).contents).toEqual({ text: '3', isError: false })
    expect((await rig.use('local:say', {}, { id: 'e1' })).contents.text).toBe('effect e1')
    expect((await rig.use('local:none')).contents).toEqual({ text: '', isError: false })
    expect(rig.tools.problems()).toEqual([])
    const all = await rig.tools.catalogue(new AbortController().signal)
    expect(all.map(({ terms }) => terms.toolId)).toEqual([
      'assay:artifact.create',
      'assay:http.get',
      'local:none',
      'local:say',
      'local:words',
    ])
  })

  test('R-TOOL-11: what is no module with a function is left out, and said to be', async () => {
    const root = project({
      'data.json': '{"description":"x","inputSchema":{},"run":"() => 1"}',
      'data.yaml': 'handler: rm -rf /',
      'typed.ts': module('() => 1'),
      'broken.mjs': 'export default {\n  run:\n}',
      'gone.mjs': 'import "./nowhere.mjs"',
      'throws.mjs': '\nthrow new Error("swordfish")',
      'empty.mjs': 'export const a = 1',
      'text.mjs': module('"() => 1"'),
      'schema.mjs': "export default { description: 'x', inputSchema: { type: 'strin' }, run: () => 1 }",
      'odd name.mjs': module('() => 1'),
      'twice.js': module('() => 1'),
      'twice.mjs': module('() => 2'),
      'good.mjs': module('() => 1'),
      'README.md': 'nothing',
      'package.json': '{"type":"module"}',
    })
    symlinkSync(path.join(root, 'tools', 'good.mjs'), path.join(root, 'tools', 'link.mjs'))
    rig = await toolRig({ project: root })
    const all = await rig.tools.catalogue(new AbortController().signal)
    expect(all.map(({ terms }) => terms.toolId)).toEqual([
      'assay:artifact.create',
      'assay:http.get',
      'local:good',
      'local:twice',
    ])
    const problems = rig.tools.problems()
    expect(problems.map(problem => problem.split(':')[0])).toEqual([
      'tools/broken.mjs',
      'tools/data.json',
      'tools/data.yaml',
      'tools/empty.mjs',
      'tools/gone.mjs',
      'tools/odd name.mjs',
      'tools/schema.mjs',
      'tools/text.mjs',
      'tools/throws.mjs',
      'tools/twice.mjs',
      'tools/typed.ts',
    ])
    expect(problems.join() + rig.logged()).not.toMatch(/swordfish/)
    expect((await rig.use('local:link')).told.code).toBe('tool_unknown')
  })

  test('a module that never finishes loading does not keep the host from starting', async () => {
    const clock = new ManualClock()
    const starting = toolRig({ project: project({ 'slow.mjs': 'await new Promise(() => undefined)' }), clock })
    let started = false
    void starting.then(() => {
      started = true
    })
    while (!started) await clock.advance(1_000)
    rig = await starting
    expect(rig.tools.problems()).toEqual(['tools/slow.mjs: it does not finish loading'])
  })

  test('F9: one that throws, returns no JSON, too much, or nothing in time ends its call and no more', async () => {
    rig = await toolRig({
      secrets: { KEY: 'swordfish-1234567' },
      settings: { rules: { 'local:sleeps': { timeoutMs: 50 } } },
      project: project({
        'throws.mjs': module('() => { throw new Error("no swordfish left") }'),
        'rejects.mjs': module('async () => { throw null }'),
        'cyclic.mjs': module('() => { const a = {}; a.a = a; return a }'),
        'bigint.mjs': module('() => 1n'),
        'huge.mjs': module('() => "x".repeat(100_000_000)'),
        'deep.mjs': module('() => { let a = 1; for (let i = 0; i < 1e6; i++) a = [a]; return a }'),
        'sleeps.mjs': module(
          '(_, { signal }) => new Promise((_, no) => signal.addEventListener("abort", () => no(signal.reason)))',
        ),
        'wrong.mjs': module(
          '() => ({ sum: "none" })',
          "outputSchema: { type: 'object', properties: { sum: { type: 'number' } } },",
        ),
        'mutates.mjs': module('args => { args.text = "changed"; return args }'),
      }),
    })
    const code = async (toolId: string) => (await rig.use(toolId)).told.code
    const threw = await rig.use('local:throws')
    expect([threw.told.status, threw.told.code]).toEqual(['error', 'tool_failed'])
    expect(threw.contents.text).toMatch(/no swordfish left/)
    expect(await code('local:rejects')).toBe('tool_failed')
    expect(await code('local:cyclic')).toBe('tool_result_invalid')
    expect(await code('local:bigint')).toBe('tool_result_invalid')
    expect(await code('local:deep')).toBe('tool_result_invalid')
    expect(await code('local:wrong')).toBe('tool_result_invalid')
    expect(await code('local:sleeps')).toBe('tool_timeout')
    expect(Buffer.byteLength((await rig.use('local:huge')).contents.text)).toBe(4_096)
    const args = { text: 'mine' }
    await rig.use('local:mutates', args)
    expect(args).toEqual({ text: 'mine' })
    expect(rig.logged()).not.toMatch(/swordfish/)
  })

  test('R-TOOL-5: a principal who calls too often is told to wait, and nothing is called', async () => {
    const clock = new ManualClock()
    const count = 'calls'
    rig = await toolRig({
      clock,
      settings: { rules: { 'local:count': { ratePerMinute: 2 } } },
      project: project({ 'count.mjs': `let ${count} = 0; ${module(`() => (${count} += 1)`)}` }),
    })
    expect((await rig.use('local:count')).contents.text).toBe('1')
    expect((await rig.use('local:count', [])).told.code).toBe('tool_arguments_invalid')
    expect((await rig.use('local:count')).contents.text).toBe('2')
    const limited = await rig.use('local:count')
    expect(limited.told).toMatchObject({ status: 'rate_limited', durationMs: 0, code: 'rate_limited' })
    expect(limited.contents).toMatchObject({ isError: true, text: expect.stringMatching(/try again in 30 s$/) })
    expect((await rig.use('local:count', {}, { principal: 'bob' })).contents.text).toBe('3')
    expect((await rig.use('local:count', {}, { tenant: 'other' })).contents.text).toBe('4')
    clock.skip(30_000)
    expect((await rig.use('local:count')).contents.text).toBe('5')
    expect((await rig.use('local:count')).told.status).toBe('rate_limited')
  })

  test('R-TOOL-7: how long a call took is told by the clock', async () => {
    const clock = new ManualClock()
    rig = await toolRig({ clock, project: project({ 'wait.mjs': module('() => globalThis.assayTestWait()') }) })
    const waiting = { assayTestWait: () => new Promise(resolve => clock.after(1_234, () => resolve('done'))) }
    Object.assign(globalThis, waiting)
    let used: Awaited<ReturnType<Rig['use']>> | undefined
    void rig.use('local:wait').then(answer => {
      used = answer
    })
    while (used === undefined) await clock.advance(1)
    expect(used.told).toMatchObject({ status: 'ok', durationMs: expect.any(Number) })
    expect(used.told.durationMs).toBeGreaterThanOrEqual(1_234)
  })
})
