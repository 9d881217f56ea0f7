import fs from 'node:fs'
import path from 'node:path'
import { afterEach, describe, expect, test } from 'vitest'
import { closeAll, isRunning, single, startReceiver, startStepHost, told } from './rig.js'

/** Steps that are code of the project, each in a process of its own. */

afterEach(closeAll)

const step = (run: string, more = '') => `import { defineStep } from 'assay'
import fs from 'node:fs'
import { spawn } from 'node:child_process'
export default defineStep({ ${more} async run(ctx) { ${run} } })`

const work = (inputs: object = {}, settings: object = {}) =>
  single('work', 'core.step', { config: { step: 'do' }, inputs, settings } as never)

const project = (run: string, more?: string, settings?: object) => ({
  'steps/do.mjs': step(run, more),
  'workflows/work.json': work({}, settings),
  'steps/fine.mjs': step(`return 'fine'`),
  'workflows/fine.json': single('fine', 'core.step', { config: { step: 'fine' } }),
})

describe('a step', () => {
  test('in TypeScript, with a shared module, is given its inputs and gives back its result', async () => {
    const { run, findings } = await startStepHost({
      'steps/do.ts': `import { defineStep } from 'assay/steps'
        import { shout } from './lib/shout.ts'
        export default defineStep({
          input: { type: 'object', properties: { word: { type: 'string' } }, required: ['word'] },
          output: { type: 'object', properties: { loud: { type: 'string' } }, required: ['loud'] },
          repeat: 'safe',
          async run({ input, progress }) {
            progress('about to shout')
            const loud: string = shout(input.word)
            return { loud }
          },
        })`,
      'steps/lib/shout.ts': `export const shout = (word: string): string => word.toUpperCase()`,
      'workflows/work.json': work({ word: { type: 'static', value: 'hey' } }),
    })
    const ended = await run('work')
    expect(ended).toMatchObject({ status: 'completed', outputs: { done: { result: { loud: 'HEY' } } } })
    expect(told(ended, 'log.appended').map(({ payload }) => payload.message)).toEqual(['about to shout'])
    expect(await findings()).toEqual([])
  })

  test('the digest of its code is recorded with what came of it', async () => {
    const { run, store } = await startStepHost(project(`return 1`))
    const { runId } = await run('work')
    const inputs = (await store.readEvents(runId, 0)).map(({ input }) => input ?? '')
    expect(inputs.filter(input => /"codeDigest":"sha256:[0-9a-f]{64}"/.test(input))).toHaveLength(1)
  })

  test('reaches memory, files and the world through the host, and nothing that it was not given', async () => {
    const { url, received } = await startReceiver(() => ({ body: '{"ok":true}' }))
    const { run, findings } = await startStepHost({
      'steps/do.mjs': step(`
        await ctx.workspace.write('a.txt', 'one'); await ctx.workspace.write('b.txt', 'two')
        await ctx.memory.put({ memoryRef: 'people', memoryId: 'ann', content: 'likes snow' })
        const answer = await ctx.fetch('${url}/x', { method: 'POST', body: 'hello' })
        return { before: await ctx.workspace.read('a.txt'), status: answer.status, json: answer.json(), id: ctx.effectId }`),
      'steps/after.mjs': step(`return {
        a: (await ctx.workspace.read('a.txt')).content,
        files: (await ctx.workspace.list()).map(f => f.id).sort(),
        ann: (await ctx.memory.get('people', 'ann')).content }`),
      'workflows/work.json': {
        id: 'work',
        nodes: [
          { id: 'work', typeId: 'core.step', config: { step: 'do' } },
          { id: 'after', typeId: 'core.step', config: { step: 'after' } },
          {
            id: 'end',
            typeId: 'core.end',
            inputs: {
              work: { type: 'expression', expression: 'nodes.work.result' },
              after: { type: 'expression', expression: 'nodes.after.result' },
            },
          },
        ],
        edges: [
          { sourceNodeId: 'work', targetNodeId: 'after' },
          { sourceNodeId: 'after', targetNodeId: 'end' },
        ],
      },
    })
    const { outputs, error } = await run('work')
    expect(error).toBeUndefined()
    expect(outputs).toMatchObject({
      work: { before: null, status: 200, json: { ok: true } },
      after: { a: 'one', files: ['a.txt', 'b.txt'], ann: 'likes snow' },
    })
    const { id } = outputs.work as { id: string }
    expect(received[0]).toMatchObject({ method: 'POST', body: 'hello', headers: { 'idempotency-key': `${id}-1` } })
    expect(await findings()).toEqual([])
  })

  test('R-EVENT-6: it gets the secrets that it declares, and what it says of them is taken out everywhere', async () => {
    const files = project(
      `console.log('printed', ctx.secrets.token); ctx.progress('saying ' + ctx.secrets.token)
       return { token: ctx.secrets.token, others: Object.keys(ctx.secrets) }`,
      `secrets: { token: { env: 'DO_TOKEN' } },`,
    )
    const { run, logged, store } = await startStepHost(files, {}, { DO_TOKEN: 'tok-1a2b3c4d', OTHER: 'tok-other-one' })
    const ended = await run('work')
    expect(ended).toMatchObject({ status: 'completed', outputs: { done: { result: { others: ['token'] } } } })
    expect(JSON.stringify(logged)).toContain('printed')
    const everything = JSON.stringify([ended, logged, await store.readEvents(ended.runId, 0)])
    expect(everything).not.toContain('tok-1a2b3c4d')
  })

  test('that must not run twice is not tried again; one that may is', async () => {
    for (const [repeat, tries] of [
      ['never', 1],
      ['safe', 3],
    ] as const) {
      const { run } = await startStepHost(
        project(`throw new Error('not today')`, `repeat: '${repeat}',`, { maxRetries: 2, retryDelayMs: 1 }),
      )
      const ended = await run('work')
      expect(ended).toMatchObject({ status: 'failed', error: { code: 'step_failed' } })
      expect(ended.error?.message).toContain('not today')
      expect(told(ended, 'node.started')).toHaveLength(tries)
    }
  })
})

describe('a step that goes wrong harms nothing but its own node', () => {
  const hostile: [string, string, RegExp, string][] = [
    ['throws', `throw new Error('boom')`, /boom/, ''],
    ['throws something else', `throw undefined`, /failed/, ''],
    ['hangs', `await new Promise(() => setInterval(() => {}, 1000))`, /took longer than 1000 ms/, 'timeoutMs: 1000,'],
    ['never yields', `for (;;) {}`, /took longer than 1000 ms/, 'timeoutMs: 1000,'],
    ['leaks memory', `const all = []; for (;;) all.push(new Array(1000).fill({}))`, /memory|ended/, ''],
    [
      'grows by Buffers',
      `const all = []; for (;;) all.push(Buffer.alloc(16 * 1024 * 1024, 1))`,
      /memory|ended|failed/,
      '',
    ],
    ['exits', `process.exit(7)`, /exit code 7/, ''],
    ['kills its process', `process.kill(process.pid, 'SIGKILL')`, /SIGKILL/, ''],
    [
      'says what is no message',
      `fs.writeSync(3, 'not json\\n'); await new Promise(() => setInterval(() => {}, 1000))`,
      /cannot read/,
      '',
    ],
    [
      'says too much',
      `fs.writeSync(3, Buffer.alloc(3_000_000, 120)); await new Promise(() => {})`,
      /too much|failed|ended/,
      '',
    ],
    [
      'returns what its schema forbids',
      `return { n: 'three' }`,
      /output schema/,
      `output: { type: 'object', properties: { n: { type: 'number' } } },`,
    ],
    ['returns what is no JSON', `const a = {}; a.a = a; return a`, /circular/, ''],
    ['returns more than a value may have', `return 'x'.repeat(1_500_000)`, /larger than|too large/, ''],
  ]

  test.each(hostile)(
    'one that %s',
    async (_what, run, message, more) => {
      const host = await startStepHost(project(run, more), { 'steps.memoryMb': 160 })
      const ended = await host.run('work')
      expect(ended.status).toBe('failed')
      expect(ended.error?.message).toMatch(message)
      expect(await host.run('fine')).toMatchObject({ status: 'completed', outputs: { done: { result: 'fine' } } })
      expect(await host.findings()).toEqual([])
    },
    60_000,
  )

  test('one that prints 10 MB is read to its end, and completes', async () => {
    const host = await startStepHost(
      project(`for (let i = 0; i < 160; i++) console.log('x'.repeat(65_536)); return 'done'`),
    )
    expect(await host.run('work')).toMatchObject({ status: 'completed', outputs: { done: { result: 'done' } } })
    expect(JSON.stringify(host.logged).length).toBeLessThan(40_000)
  })

  test.each([
    ['in its group', `spawn('sleep', ['600'], { stdio: 'ignore' })`],
    ['in a session of its own', `spawn('sleep', ['600'], { stdio: 'inherit', detached: true })`],
  ])('one that starts a child that would outlive it, %s', async (_what, spawning) => {
    const host = await startStepHost(project(`const child = ${spawning}; child.unref(); return child.pid`))
    const { outputs, status } = await host.run('work')
    expect(status).toBe('completed')
    await expect.poll(() => isRunning((outputs.done as { result: number }).result)).toBe(false)
  })

  test('one that reads process.env and the data key finds neither', async () => {
    const files = project(`
      const read = file => { try { return fs.readFileSync(file, 'utf8') } catch (error) { return error.code } }
      return { env: process.env, key: read(ctx.input.key), dot: read('.env') }`)
    const host = await startStepHost(files, {}, { OPENAI_API_KEY: 'sk-none-of-its-business' })
    const data = path.join(host.project, '..', 'data')
    const key = fs.readdirSync(data).find(name => name.includes('key'))
    expect(key).toBeDefined()
    host.write({
      '.env': 'SECRET=sesame',
      'workflows/work.json': work({ key: { type: 'static', value: path.join(data, key ?? '') } }),
    })
    expect((await host.host.reload()).problems).toEqual([])
    const { outputs, error } = await host.run('work')
    expect(error).toBeUndefined()
    const { env, ...found } = (outputs.done as { result: { env: object } }).result
    expect(found).toMatchObject({ key: 'ERR_ACCESS_DENIED', dot: 'ERR_ACCESS_DENIED' })
    const usual = ['ASSAY_EFFECT_ID', 'HOME', 'LANG', 'PATH', 'TMPDIR']
    expect(
      Object.keys(env)
        .filter(name => !['_', 'PWD', 'SHLVL', 'OLDPWD'].includes(name))
        .sort(),
    ).toEqual(usual)
  })
})

describe('a step that changes', () => {
  const SLOW = `input: { type: 'object' }, repeat: 'safe',`
  const waiting = {
    id: 'work',
    nodes: [
      { id: 'ask', typeId: 'core.approvalGate', config: { title: 'Now?' } },
      { id: 'work', typeId: 'core.step', config: { step: 'do' } },
      { id: 'end', typeId: 'core.end', inputs: { done: { type: 'expression', expression: 'nodes.work' } } },
    ],
    edges: [
      { sourceNodeId: 'ask', targetNodeId: 'work' },
      { sourceNodeId: 'work', targetNodeId: 'end' },
    ],
  }
  const begun = async (before: string) => {
    const host = await startStepHost({ 'steps/do.mjs': before, 'workflows/work.json': waiting })
    const { runId } = await host.client.createRun({ workflowId: 'work' })
    for await (const { type } of host.client.followEvents(runId)) if (type === 'interrupt.requested') break
    return { ...host, runId, go: () => host.client.resolveInterrupt(runId, 'ask', { action: 'accept' }) }
  }

  test('in its code alone is run as it is now', async () => {
    const host = await begun(step(`return 'old'`, SLOW))
    host.write({ 'steps/do.mjs': step(`return 'new'`, SLOW) })
    await host.go()
    expect(await host.ended(host.runId)).toMatchObject({ status: 'completed', outputs: { done: { result: 'new' } } })
  })

  test.each([
    [
      'its schemas',
      { 'steps/do.mjs': step(`return 1`, `input: { type: 'object', required: ['x'] }, repeat: 'safe',`) },
    ],
    ['its repeat', { 'steps/do.mjs': step(`return 1`, `input: { type: 'object' }, repeat: 'never',`) }],
  ])('in %s ends the node of a run that began before with step_changed', async (_what, files) => {
    const host = await begun(step(`return 'old'`, SLOW))
    host.write(files)
    await host.go()
    expect(await host.ended(host.runId)).toMatchObject({ status: 'failed', error: { code: 'step_changed' } })
  })

  test('by being removed does so, too', async () => {
    const host = await begun(step(`return 'old'`, SLOW))
    fs.rmSync(path.join(host.project, 'steps/do.mjs'))
    await host.go()
    expect(await host.ended(host.runId)).toMatchObject({ status: 'failed', error: { code: 'step_changed' } })
  })
})

describe('a project', () => {
  test.each([
    [
      'names a step that is not there',
      { 'steps/dou.mjs': step('return 1') },
      /"do", and steps\/ has no such file.*dou/,
    ],
    ['has a step that is none', { 'steps/do.mjs': 'export const run = 1' }, /steps\/do\.mjs.*export a step by default/],
    [
      'has a step that does not load',
      { 'steps/do.mjs': `throw new Error('unfinished')` },
      /steps\/do\.mjs.*unfinished/,
    ],
    [
      'has a step with a slip of the pen',
      { 'steps/do.mjs': step('return 1', 'ouput: {},') },
      /"ouput" is not a member/,
    ],
    [
      'has two of one name',
      { 'steps/do.mjs': step('return 1'), 'steps/do.ts': step('return 2') },
      /already gives the step/,
    ],
  ])('that %s is not served, and is told why', async (_what, files, problem) => {
    await expect(startStepHost({ ...files, 'workflows/work.json': work() })).rejects.toThrow(problem)
  })
})
