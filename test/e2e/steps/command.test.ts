import fs from 'node:fs'
import path from 'node:path'
import { afterEach, describe, expect, test } from 'vitest'
import { completeDefinition } from '../../../src/project/complete.js'
import { closeAll, isRunning, newFolder, single, startStepHost } from './rig.js'

/** Nodes that run programs of the project. */

afterEach(closeAll)

const NODE = process.execPath
const command = (words: readonly string[], more: object = {}, inputs: object = {}) => ({
  'workflows/run.json': single('run', 'core.command', { config: { command: words, ...more }, inputs } as never),
})
const script = (code: string, more?: object, inputs?: object) => command([NODE, '-e', code], more, inputs)

describe('core.command', () => {
  test('runs in the project folder with a written environment, its input on stdin and no shell', async () => {
    const code = `process.stdin.on('data', d => console.log(JSON.stringify([String(d), process.cwd(), Object.keys(process.env).sort(), process.argv[1]])))`
    const stdin = { stdin: { type: 'static', value: { a: 1 } } }
    const files = command([NODE, '-e', code, '$(touch pwned); *'], { output: 'json' }, stdin)
    const { run, project, findings } = await startStepHost(files, {}, { OPENAI_API_KEY: 'sk-not-for-programs' })
    const { outputs, error } = await run('run')
    expect(error).toBeUndefined()
    const [given, cwd, names, word] = (outputs.done as { result: [string, string, string[], string] }).result
    expect([given, fs.realpathSync(cwd)]).toEqual(['{"a":1}', fs.realpathSync(project)])
    expect(names.filter(name => name !== '_' && name !== 'PWD')).toEqual(['ASSAY_EFFECT_ID', 'HOME', 'LANG', 'PATH'])
    expect(word).toBe('$(touch pwned); *')
    expect(await findings()).toEqual([])
  })

  test('an exit code other than 0 fails the node with the last words of stderr', async () => {
    const { run } = await startStepHost(script(`console.error('no such tag'); process.exit(3)`))
    expect(await run('run')).toMatchObject({
      status: 'failed',
      error: { code: 'effect_failed', message: 'exit code 3: no such tag' },
    })
  })

  test('what takes too long is ended, and with it whoever it has started; it is not run twice', async () => {
    const pids = path.join(newFolder(), 'pids')
    const code = `const { spawn } = require('node:child_process')
      const child = spawn('sleep', ['600'], { stdio: 'ignore' })
      require('node:fs').appendFileSync(${JSON.stringify(pids)}, process.pid + ' ' + child.pid + '\\n')
      setInterval(() => {}, 1000)`
    const { run } = await startStepHost(script(code, { timeoutMs: 1_500 }))
    expect(await run('run')).toMatchObject({ status: 'failed', error: { code: 'effect_outcome_unknown' } })
    const lines = fs.readFileSync(pids, 'utf8').trim().split('\n')
    expect(lines).toHaveLength(1)
    const alive = () => lines[0]!.split(' ').filter(pid => isRunning(Number(pid)))
    await expect.poll(alive).toEqual([])
  })

  test('what prints without end is cut at 256 KiB and says so', async () => {
    const { run } = await startStepHost(script(`process.stdout.write('x'.repeat(3_000_000))`))
    const { done } = (await run('run')).outputs as { done: { stdout: string; truncated: boolean } }
    expect([done.stdout.length, done.truncated]).toEqual([262_144, true])
  })

  test('R-EVENT-6: it gets a secret by name, and what it prints of it is taken out', async () => {
    const env = { env: { TOKEN: { env: 'RELEASE_TOKEN' } } }
    const { run } = await startStepHost(
      script('console.log(process.env.TOKEN)', env),
      {},
      { RELEASE_TOKEN: 'tok-9d8c7b6a' },
    )
    const ended = await run('run')
    expect(ended.status).toBe('completed')
    expect(JSON.stringify(ended)).not.toContain('tok-9d8c7b6a')
  })

  test('a program that needs more memory than it may have ends, and the host goes on', async () => {
    const hog = `const all = []; for (;;) all.push(Buffer.alloc(64 * 1024 * 1024, 1))`
    const files = {
      ...script(hog),
      'workflows/ok.json': single('ok', 'core.command', { config: { command: ['true'] } }),
    }
    const { run } = await startStepHost(files)
    expect((await run('run')).status).toBe('failed')
    expect((await run('ok')).status).toBe('completed')
  })

  test('a workflow of the API may run nothing, whatever it was told', async () => {
    const { client } = await startStepHost({})
    const definition = completeDefinition(single('run', 'core.command', { config: { command: ['id'] } }), 'run')
    await expect(client.putWorkflow('run', definition)).rejects.toThrow(/files of the project only/)
  })

  test('a branch of a run of the project may not change what is run', async () => {
    const { run, client } = await startStepHost(command(['true']))
    const { runId } = await run('run')
    const set = { 'nodes.work.config.command': ['id'] }
    await expect(client.forkRun(runId, { mode: 'branch', fromSeq: 0, assay: { set } })).rejects.toThrow(
      /files of the project only/,
    )
  })
})
