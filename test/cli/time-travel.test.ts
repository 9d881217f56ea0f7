import fs from 'node:fs'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Server, startServer, temporaryFolder } from './assay-process.js'

let folder: string
let server: Server

beforeAll(async () => {
  folder = temporaryFolder()
  server = await startServer(path.join(folder, 'data'))
  for (const [name, text] of Object.entries({ gate: GATE, slow: SLOW })) {
    fs.writeFileSync(path.join(folder, `${name}.yaml`), text)
    expect(await server.assay('workflows', 'put', path.join(folder, `${name}.yaml`))).toMatchObject({ code: 0 })
  }
})

afterAll(async () => {
  await server.stop()
  fs.rmSync(folder, { recursive: true })
})

const GATE = `
nodes:
  - { id: gate, typeId: core.approvalGate, config: { title: Go on } }
  - id: end
    typeId: core.end
    inputs:
      limit: { type: expression, expression: 'has(configurable.limit) ? configurable.limit : 0' }
edges:
  - { sourceNodeId: gate, targetNodeId: end }
`
const SLOW = 'nodes:\n  - { id: wait, typeId: core.delay, config: { delayMs: 600000 } }\n'

const completed = async (workflow: string, ...args: string[]) =>
  String((await server.json('run', workflow, '--wait', ...args)).value.runId)
const start = async (workflow: string) => String((await server.json('run', workflow)).value.runId)
const lengthOf = async (id: string) => (await server.json('runs', 'events', id)).value.events.length

describe('runs replay', () => {
  test('--check finds that the same story is told again', async () => {
    for (const workflow of ['hello', 'retry', 'loop', 'channel', 'sub-workflow']) {
      const id = await completed(workflow)
      const { code, stdout } = await server.assay('runs', 'replay', id, '--check')
      expect({ workflow, code }).toEqual({ workflow, code: 0 })
      const [, replay] = /^(\S+) completed\n/.exec(stdout)!
      expect(stdout).toBe(`${replay} completed\nreplay is equal: ${await lengthOf(id)} events\n`)
      expect((await server.assay('runs', 'get', replay!)).stdout).toContain(`replay of ${id} from event 0`)
    }
  })

  test('repeats the answers of people without asking them, from any event on', async () => {
    const id = await start('gate')
    await server.assay('interrupts', 'resolve', id, '--accept')
    const { code, value } = await server.json('runs', 'replay', id, '--check', '--from', '3')
    expect(code).toBe(0)
    expect(value).toMatchObject({ sourceRunId: id, fromSeq: 3, status: 'completed', equal: true })
    expect((await server.json('interrupts', 'list')).value.interrupts).toEqual([])
    const plain = await server.assay('runs', 'replay', id)
    expect(plain).toMatchObject({ code: 0, stdout: expect.stringMatching(/^\S+ completed\n$/) })
  })

  test('a source that still goes on is compared as far as it is', async () => {
    const id = await start('gate')
    const { code, stdout } = await server.assay('runs', 'replay', id, '--check')
    expect(code).toBe(0)
    expect(stdout).toContain(`failed\nreplay is equal: ${await lengthOf(id)} events (all that the source has so far)\n`)
    await server.assay('runs', 'cancel', id)
  })

  test('what a person cancelled parts there, by design, and exits 1', async () => {
    const id = await start('slow')
    await server.assay('runs', 'cancel', id, '--reason', 'enough')
    const { code, stdout } = await server.assay('runs', 'replay', id, '--check')
    expect(code).toBe(1)
    expect(stdout).toMatch(/replay differs at event \d+:\n {2}source {2}(node|run)\.cancelled.*\n {2}replay {2}/)
    expect(stdout).toContain('a person cancelled the source here')
    expect(stdout).not.toMatch(/replay {2}replay\.diverged/)
  })

  test('beyond the end of the log is refused', async () => {
    const id = await completed('hello')
    const { code, stderr } = await server.assay('runs', 'replay', id, '--from', '999')
    expect(code).toBe(2)
    expect(stderr).toMatch(/\[invalid_from_seq\][\s\S]*assay runs events/)
  })
})

describe('runs fork', () => {
  test('goes on by itself from an event, with other options and tags', async () => {
    const id = await start('gate')
    await server.assay('interrupts', 'resolve', id, '--reject')
    expect((await server.json('runs', 'get', id)).value.status).toBe('failed')
    const { events } = (await server.json('runs', 'events', id)).value
    const suspended = events.findIndex((event: { type: string }) => event.type === 'node.suspended')
    const args = ['--from', String(suspended + 1), '--set', 'limit=5', '--tag', 'second-try']
    const { code, stdout } = await server.assay('runs', 'fork', id, ...args)
    expect(code).toBe(0)
    const fork = stdout.trim()
    const { value } = await server.json('runs', 'get', fork)
    expect(value).toMatchObject({
      status: 'waiting-approval',
      forkedFrom: { runId: id, fromSeq: suspended + 1, mode: 'branch' },
    })
    expect((await server.json('runs', 'list', '--tag', 'second-try')).value.runs).toHaveLength(1)
    await server.assay('interrupts', 'resolve', fork, '--accept')
    const followed = await server.assay('runs', 'follow', fork)
    expect({ code: followed.code, outputs: JSON.parse(followed.stdout) }).toEqual({ code: 0, outputs: { limit: 5 } })
    expect((await server.json('runs', 'get', id)).value.status).toBe('failed')
  })

  test('--follow waits for its end', async () => {
    const id = await completed('hello', '-i', 'name=Ada')
    const { code, stdout } = await server.assay('runs', 'fork', id, '--from', '1', '--follow')
    expect({ code, outputs: JSON.parse(stdout) }).toEqual({ code: 0, outputs: { greeting: 'Hello, Ada!' } })
    expect(await server.assay('runs', 'fork', id)).toMatchObject({ code: 2 })
  })
})

describe('runs diff', () => {
  test('equal runs exit 0, others 1 with the first difference', async () => {
    const [ada, bob] = [await completed('hello', '-i', 'name=Ada'), await completed('hello', '-i', 'name=Bob')]
    expect(await server.assay('runs', 'diff', ada, await completed('hello', '-i', 'name=Ada'))).toMatchObject({
      code: 0,
    })
    const { code, stdout } = await server.assay('runs', 'diff', ada, bob)
    expect(code).toBe(1)
    expect(stdout).toContain('first difference at event 0:')
    expect(stdout).toContain('first difference: payload.inputs.name, "Ada" and "Bob"')
    expect(stdout).toContain('variables.name: "Ada" and "Bob"')
    const { value } = await server.json('runs', 'diff', ada, bob)
    expect(value).toMatchObject({ a: ada, b: bob, divergedAtSeq: 0 })
    expect(await server.assay('runs', 'diff', ada, 'nothing')).toMatchObject({ code: 2 })
  })
})

describe('runs compare', () => {
  const guide = fs.readFileSync(path.resolve('docs/guides/time-travel.md'), 'utf8')
  const [, workflow = ''] = /With this workflow:\n\n```yaml\n([\s\S]*?)```/.exec(guide) ?? []
  const [, output = ''] = /assay runs compare A B\n```\n\n```\n([\s\S]*?)```/.exec(guide) ?? []

  test('the guide’s example prints what the guide shows, and exits 1 because the runs differ', async () => {
    const file = path.join(folder, 'greeting.yaml')
    fs.writeFileSync(file, workflow)
    expect(await server.assay('workflows', 'put', file)).toMatchObject({ code: 0 })
    const a = await completed('greeting')
    const change = ['--from', '1', '--set', 'nodes.greet.config.value=Goodbye']
    const b = String((await server.json('runs', 'fork', a, ...change)).value.runId)
    expect(await server.assay('runs', 'follow', b)).toMatchObject({ code: 0 })
    const { code, stdout } = await server.assay('runs', 'compare', a, b)
    expect(stdout.replaceAll(a, 'A').replaceAll(b, 'B')).toBe(output)
    expect(code).toBe(1)
    for (const line of stdout.split('\n')) expect(line.length).toBeLessThanOrEqual(120)
    const { value } = await server.json('runs', 'compare', a, b)
    expect(value).toMatchObject({
      a: { runId: a, status: 'completed', changed: [] },
      b: { runId: b, status: 'completed', changed: ['nodes.greet.config.value'] },
      sharedEvents: 1,
      equal: false,
    })
  })

  test('a branch without a change comes out alike, and exits 0', async () => {
    const a = await completed('hello', '-i', 'name=Ada')
    const b = String((await server.json('runs', 'fork', a, '--from', '1')).value.runId)
    const { code, stdout } = await server.assay('runs', 'compare', a, b)
    expect({ code, stdout }).toMatchObject({ code: 0, stdout: expect.stringContaining('every step came out alike') })
    expect(await server.assay('runs', 'compare', a, 'nothing')).toMatchObject({ code: 2 })
  })

  test('a change that cannot be made is refused with what to do', async () => {
    const a = await completed('hello')
    const { code, stderr } = await server.assay('runs', 'fork', a, '--from', '1', '--set', 'agents.nobody.model=x')
    expect(code).toBe(2)
    expect(stderr).toMatch(/agents\.nobody\.model.*names no agent of this host/)
  })
})

test('runs bundle saves how a run went', async () => {
  const id = await completed('hello')
  const file = path.join(folder, 'bundle.json')
  expect(await server.assay('runs', 'bundle', id, '--out', file)).toMatchObject({ code: 0, stdout: `${file}\n` })
  const bundle = JSON.parse(fs.readFileSync(file, 'utf8'))
  expect(bundle.events).toHaveLength(await lengthOf(id))
  expect(fs.statSync(file).mode & 0o777).toBe(0o600)
  expect(JSON.parse((await server.assay('runs', 'bundle', id, '--out', '-')).stdout).run.runId).toBe(id)
})
