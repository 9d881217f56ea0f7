import fs from 'node:fs'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Server, startAssay, startServer, temporaryFolder, until } from './assay-process.js'
import { runHere } from './command-line.js'

let folder: string
let server: Server
const file = (name: string, text: string) => {
  const place = path.join(folder, name)
  fs.writeFileSync(place, text)
  return place
}

beforeAll(async () => {
  folder = temporaryFolder()
  server = await startServer(path.join(folder, 'data'))
})

afterAll(async () => {
  await server.stop()
  fs.rmSync(folder, { recursive: true })
})

const SLOW = 'id: slow\nnodes:\n  - { id: wait, typeId: core.delay, config: { delayMs: 600000 } }\n'

const startSlow = async () => {
  await server.assay('workflows', 'put', file('slow.yaml', SLOW))
  const { value } = await server.json('run', 'slow')
  return String(value.runId)
}

describe('the examples do what they say', () => {
  test.each<[string, string[], object]>([
    ['hello', [], { greeting: 'Hello, world!' }],
    ['hello', ['--input', 'name=Ada'], { greeting: 'Hello, Ada!' }],
    ['parallel-merge', ['-i', 'n=6'], { sum: 48 }],
    ['retry', [], { attempts: 3 }],
    ['channel', [], { notes: ['first', 'second'], total: 2 }],
    ['sub-workflow', ['-i', 'guest=Grace'], { reply: 'Good day, Grace.' }],
    ['greet-politely', [], {}],
    ['loop', [], { steps: 4, sum: 10 }],
    ['branch', [], { decision: 'fine' }],
    ['branch', ['-i', 'amount=500'], { decision: 'needs a second look' }],
    ['orchestrator', ['-i', 'topic=bees'], { draft: 'A few words about bees.', verdict: 'good' }],
    ['write-draft', [], {}],
    ['checked-answer', [], { answer: expect.stringMatching(/^Twice in a lunar day/) }],
    ['review-draft', [], {}],
  ])('%s %j gives %j', async (workflow, inputs, outputs) => {
    const { code, stdout, stderr } = await server.assay('run', workflow, ...inputs, '--wait')
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(JSON.parse(stdout)).toMatchObject(outputs)
  })

  test.each<[string, string[], object]>([
    ['approval', ['--edit', '"Sorry."'], { reply: 'Sorry.' }],
    ['approval', ['--reject'], { reason: 'refused' }],
    ['clarification', ['--answer', 'city=Bern', '--answer', 'copies=2'], { answers: { city: 'Bern', copies: 2 } }],
  ])('%s, answered with %j, gives %j', async (workflow, answer, outputs) => {
    const { runId } = (await server.json('run', workflow)).value
    expect((await server.assay('interrupts', 'resolve', runId, ...answer)).stdout).toBe(`${runId} completed\n`)
    expect(JSON.parse((await server.assay('runs', 'follow', runId)).stdout)).toEqual(outputs)
  })

  test('two-of-three goes on when two have voted', async () => {
    const { runId } = (await server.json('run', 'two-of-three')).value
    const vote = async (principal: string) => {
      const scopes = 'runs:read,approvals:respond'
      const { key } = (await server.json('keys', 'create', '--scopes', scopes, '--principal', principal)).value
      return runHere(['--url', server.url, '--key', key, 'interrupts', 'resolve', runId, '--accept'])
    }
    expect((await vote('eve')).stderr).toMatch(/\[forbidden\][\s\S]*the key of an approver/)
    expect((await vote('ann')).stdout).toBe(`${runId} waiting-approval\n`)
    expect((await vote('bob')).stdout).toBe(`${runId} completed\n`)
  })

  test('every file is run above', async () => {
    const files = fs.readdirSync(path.resolve(import.meta.dirname, '../../examples/hello/workflows'))
    const { value } = await server.json('workflows', 'list')
    const ids = value.workflows.map((one: { workflowId: string }) => one.workflowId)
    expect(ids).toEqual(expect.arrayContaining(files.map(name => path.parse(name).name)))
    expect(files).toHaveLength(15)
  })
})

describe('run', () => {
  test('prints the id, and nothing else, on stdout', async () => {
    const { code, stdout, stderr } = await startAssay(['--data', server.data, 'run', 'hello']).done
    expect(code).toBe(0)
    expect(stdout).toMatch(/^[\w-]+\n$/)
    expect(stderr).toContain('assay runs events --follow')
  })

  test('--follow shows the log on stderr and the outputs on stdout', async () => {
    const { stdout, stderr } = await startAssay(['--data', server.data, 'run', 'hello', '--follow']).done
    expect(JSON.parse(stdout)).toEqual({ greeting: 'Hello, world!' })
    const types = stderr
      .trim()
      .split('\n')
      .map(line => line.split(/\s+/)[2])
    expect(types.at(0)).toBe('run.started')
    expect(types.at(-1)).toBe('run.completed')
  })

  test('Ctrl-C leaves the run alone, and says so', async () => {
    await server.assay('workflows', 'put', file('slow.yaml', SLOW))
    const watching = startAssay(['--data', server.data, 'run', 'slow', '--follow'])
    await until(watching, /node\.started/)
    watching.child.kill('SIGINT')
    const { code, stderr } = await watching.done
    const [, runId] = /the run goes on; look again with: assay runs follow (\S+),/.exec(stderr) ?? []
    expect(code).toBe(130)
    expect((await server.json('runs', 'get', String(runId))).value.status).toBe('running')
    await server.assay('runs', 'cancel', String(runId))
  })

  test('inputs come from a file and from stdin', async () => {
    const args = ['--data', server.data, 'run', 'hello', '--wait', '--input']
    const fromFile = await server.assay('run', 'hello', '--wait', '--input', `@${file('in.yaml', 'name: File')}`)
    const fromStdin = await startAssay([...args, '-'], { input: '{"name": "Pipe"}' }).done
    expect([fromFile.stdout, fromStdin.stdout].map(text => JSON.parse(text).greeting)).toEqual([
      'Hello, File!',
      'Hello, Pipe!',
    ])
  })

  test('an input that nothing takes is refused before anything is started, unless that is wanted', async () => {
    const before = (await server.json('runs', 'list', '--limit', '100')).value.runs.length
    const refused = await server.assay('run', 'hello', '--input', 'nmae=Ada', '--wait')
    expect([refused.code, refused.stdout]).toEqual([2, ''])
    expect(refused.stderr).toContain('--input nmae: nothing in the workflow "hello" takes it; did you mean name?')
    expect((await server.json('runs', 'list', '--limit', '100')).value.runs).toHaveLength(before)
    const wanted = await server.json('run', 'hello', '--input', 'nmae=Ada', '--allow-unknown')
    expect(wanted.value.warnings).toEqual(['inputs["nmae"]: nothing in the workflow takes it'])
    expect((await server.json('run', 'hello', '--input', 'name=Ada')).value).not.toHaveProperty('warnings')
  })

  test('one idempotency key is one run', async () => {
    const run = () => server.assay('run', 'hello', '--idempotency-key', 'once')
    const [first, second] = [await run(), await run()]
    expect(first.code).toBe(0)
    expect(second.stdout).toBe(first.stdout)
  })

  test('a run that fails exits 1 and says why', async () => {
    await server.assay(
      'workflows',
      'put',
      file('broken.yaml', 'nodes:\n  - { id: no, typeId: core.fail, config: { message: on purpose } }\n'),
    )
    const { code, stdout, stderr } = await startAssay(['--data', server.data, 'run', 'broken', '--wait']).done
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
    expect(stderr).toMatch(/run \S+ failed: on purpose \[conformance_test_failure\]/)
  })

  test('a run that is paused under a waiting user exits 3', async () => {
    await server.assay('workflows', 'put', file('slow.yaml', SLOW))
    const waiting = startAssay(['--data', server.data, 'run', 'slow', '--wait', '--tag', 'paused-soon'])
    let runId = ''
    await expect
      .poll(
        async () => {
          runId = (await server.json('runs', 'list', '--tag', 'paused-soon')).value.runs[0]?.runId ?? ''
          return runId
        },
        { timeout: 30_000 },
      )
      .not.toBe('')
    await server.assay('runs', 'pause', runId, '--drain', 'immediate')
    expect((await waiting.done).code).toBe(3)
    await server.assay('runs', 'cancel', runId)
  })
})

describe('runs', () => {
  test('pause, resume and cancel say the new status and are in the log', async () => {
    const id = await startSlow()
    expect((await server.assay('runs', 'pause', id, '--drain', 'immediate')).stdout).toBe(`${id} paused\n`)
    expect((await server.json('runs', 'get', id)).value.status).toBe('paused')
    expect((await server.assay('runs', 'resume', id)).stdout).toBe(`${id} running\n`)
    const following = startAssay(['--data', server.data, 'runs', 'events', id, '--follow', '--json'])
    expect((await server.assay('runs', 'cancel', id, '--reason', 'enough')).stdout).toMatch(/cancell/)
    const events = (await following.done).stdout
      .trim()
      .split('\n')
      .map(line => JSON.parse(line))
    expect(events.map(event => event.sequence)).toEqual(events.map((_, i) => i))
    expect(events.at(-1)).toMatchObject({ type: 'run.cancelled', payload: { reason: 'enough' } })
    const { code, stderr } = await server.assay('runs', 'pause', id)
    expect(code).toBe(2)
    expect(stderr).toMatch(/error: .*\[run_terminal\]/)
  })

  test('list filters, limits and continues', async () => {
    await server.assay('run', 'hello', '--tag', 'listed')
    await server.assay('run', 'hello', '--tag', 'listed')
    const first = (await server.json('runs', 'list', '--tag', 'listed', '--limit', '1')).value
    expect(first.runs).toHaveLength(1)
    const second = (await server.json('runs', 'list', '--tag', 'listed', '--cursor', first.nextCursor)).value
    expect(second.runs).toHaveLength(1)
    expect(second.runs[0].runId).not.toBe(first.runs[0].runId)
    expect((await server.assay('runs', 'list', '--workflow', 'hello', '--status', 'completed')).stdout).toMatch(
      /^RUN +WORKFLOW/,
    )
  })

  test('list shows what was started by hand, with how long it took, what it cost and what it waits for', async () => {
    await server.assay('run', 'sub-workflow', '--wait', '--tag', 'table')
    await server.assay('run', 'checked-answer', '--wait', '--tag', 'table')
    const { runId } = (await server.json('run', 'approval', '--tag', 'table')).value
    await server.assay('runs', 'events', runId, '--follow')
    const [header, ...rows] = (await server.assay('runs', 'list', '--tag', 'table')).stdout.trimEnd().split('\n')
    expect(header?.split(/ {2,}/)).toEqual(['RUN', 'WORKFLOW', 'STATUS', 'STARTED', 'TOOK', 'COST', 'WAITS FOR'])
    expect(rows.map(row => row.split(/ {2,}/)[1])).toEqual(['approval', 'checked-answer', 'sub-workflow'])
    expect(rows[0]).toMatch(/waiting-approval .* so far .* approval: Send this reply\?$/)
    expect(rows[1]).toMatch(/ completed +\S+Z +\d+ s *$/)
    const listed = async (...more: string[]) =>
      (await server.json('runs', 'list', '--limit', '200', ...more)).value.runs.map(
        (run: { workflowId: string; parentRunId?: string }) => [run.workflowId, run.parentRunId !== undefined],
      )
    expect(await listed()).not.toContainEqual([expect.anything(), true])
    expect(await listed('--children')).toContainEqual(['greet-politely', true])
    expect(await listed('--workflow', 'greet-politely')).toContainEqual(['greet-politely', true])
  })

  test('a page of the list has as many as were asked for, whatever stands between them', async () => {
    for (let i = 0; i < 3; i += 1) await server.assay('run', 'sub-workflow', '--wait')
    const first = (await server.json('runs', 'list', '--limit', '2')).value
    expect(first.runs.map((run: { workflowId: string }) => run.workflowId)).toEqual(['sub-workflow', 'sub-workflow'])
    const second = (await server.json('runs', 'list', '--limit', '1', '--cursor', first.nextCursor)).value
    expect(second.runs[0]).toMatchObject({ workflowId: 'sub-workflow' })
    expect(first.runs.map((run: { runId: string }) => run.runId)).not.toContain(second.runs[0].runId)
  })

  test('a run is found by the beginning of its id, and the latest by @last', async () => {
    const first = (await server.json('run', 'hello')).value.runId as string
    const second = (await server.json('run', 'sub-workflow', '--wait')).value.runId as string
    const get = async (...args: string[]) => (await server.json('runs', 'get', ...args)).value.runId
    expect(await get(first.slice(0, 34))).toBe(first)
    expect(await get('@last')).toBe(second)
    expect((await server.json('runs', 'diff', '@last', first.slice(0, 34))).value).toMatchObject({})
    const { code, stderr } = await server.assay('runs', 'get', first.slice(0, 4))
    expect([code, stderr]).toEqual([
      2,
      expect.stringMatching(/^error: several runs begin with \S{4}: .*, .*; give more/),
    ])
    expect((await server.assay('runs', 'get', 'abcdef')).stderr).toContain('[not_found]')
  })

  test('get shows what a run has come to', async () => {
    await server.assay('run', 'hello', '--wait', '--input', 'name=Ada')
    expect((await server.assay('runs', 'get', '@last')).stdout).toMatch(/^outputs +\{"greeting":"Hello, Ada!"\}$/m)
  })

  test('whoever has read enough is told no error: a closed pipe is quiet', async () => {
    const id = (await server.json('run', 'loop', '--input', 'goal=20000', '--wait')).value.runId
    const reading = startAssay(['--data', server.data, 'runs', 'events', id])
    reading.child.stdout?.once('data', () => reading.child.stdout?.destroy())
    const { code, stdout, stderr } = await reading.done
    // It was cut short: there was more to say than a pipe holds.
    expect(stdout).not.toContain('run.completed')
    expect([code, stderr]).toEqual([0, ''])
  })

  test('get and events show a run to people and to scripts', async () => {
    const id = (await server.json('run', 'sub-workflow', '--wait')).value.runId
    const shown = (await server.assay('runs', 'get', id)).stdout
    expect(shown).toMatch(/status +completed/)
    expect(shown).toMatch(/child +\S+ completed/)
    const { events } = (await server.json('runs', 'events', id, '--from', '1')).value
    expect(events[0].sequence).toBe(1)
    expect((await server.assay('runs', 'events', id)).stdout.trim().split('\n')).toHaveLength(events.length + 1)
  })
})

describe('workflows', () => {
  test('validate writes nothing; put registers; get gives it back whole', async () => {
    const place = file('mine.yaml', 'nodes:\n  - { id: a, typeId: core.noop }\n')
    expect((await server.assay('workflows', 'validate', place)).stdout).toBe(`${place} ok\n`)
    expect((await server.assay('workflows', 'get', 'mine')).code).toBe(2)
    expect((await server.assay('workflows', 'put', place)).stdout).toBe('mine registered\n')
    expect(JSON.parse((await server.assay('workflows', 'get', 'mine')).stdout)).toMatchObject({ id: 'mine', edges: [] })
  })

  test.each([
    ['edges: []\nnodes: []', /nodes/],
    ['nodes:\n  - { id: a, typeId: core.nothing }', /core\.nothing/],
    ['nodes:\n  - { id: a, typeId: core.noop }\nedges:\n  - { sourceNodeId: a, targetNodeId: b }', /"b"|\bb\b/],
    ['__proto__: 1', /__proto__ is not allowed/],
    ['a: [', /not valid YAML/],
  ])('%j is refused with what to change', async (text, message) => {
    for (const command of ['validate', 'put']) {
      const { code, stderr } = await server.assay('workflows', command, file('bad.yaml', text))
      expect(code).toBe(2)
      expect(stderr).toMatch(message)
    }
  })
})

describe('keys', () => {
  test('a key works as far as its scopes go, until it is revoked', async () => {
    const created = (await server.json('keys', 'create', '--scopes', 'runs:read', '--principal', 'ci')).value
    const withKey = (...args: string[]) => runHere(['--url', server.url, '--key', created.key, ...args])
    expect((await withKey('runs', 'list')).code).toBe(0)
    const refused = await withKey('run', 'hello')
    expect(refused.code).toBe(2)
    expect(refused.stderr).toMatch(/\[forbidden\][\s\S]*next: /)
    expect((await server.assay('keys', 'list')).stdout).toContain(created.keyId)
    expect((await server.assay('keys', 'list')).stdout).not.toContain(created.key)
    expect((await server.assay('keys', 'revoke', created.keyId)).stdout).toBe(`${created.keyId} revoked\n`)
    expect((await withKey('runs', 'list')).stderr).toMatch(/\[(key_revoked|unauthenticated)\]/)
  })

  test('an unknown scope is refused before the server is asked', async () => {
    const { code, stderr } = await runHere([
      '--url',
      'http://127.0.0.1:2',
      'keys',
      'create',
      '--scopes',
      'runs:everything',
    ])
    expect(code).toBe(2)
    expect(stderr).toContain('is not a scope; they are manifest:read')
  })
})

describe('verify', () => {
  test('finds nothing in what this host wrote', async () => {
    const one = (await server.json('run', 'sub-workflow', '--wait')).value.runId
    const { value, code } = await server.json('verify', one)
    expect({ code, findings: value.findings, runs: value.runs }).toEqual({ code: 0, findings: [], runs: 2 })
    const all = await server.assay('verify', '--all')
    expect(all).toMatchObject({ code: 0 })
    expect(all.stdout).toMatch(/\d+ runs, \d+ events of tenant default: no findings/)
  })

  test('says which tenants it looked at, and with * looks at every one that a key was made for', async () => {
    const made = await server.json('keys', 'create', '--tenant', 'acme', '--scopes', 'runs:create,runs:read')
    const acme = ['--key', made.value.key]
    const id = (await server.json('run', 'hello', '--wait', ...acme)).value.runId
    const [own, each, one] = [
      (await server.json('verify', '--all')).value,
      (await server.json('verify', '--all', '--tenant', '*')).value,
      (await server.json('verify', id, '--tenant', 'acme')).value,
    ]
    expect([own.tenants, each.tenants, one.tenants]).toEqual([
      ['default'],
      expect.arrayContaining(['acme', 'default']),
      ['acme'],
    ])
    expect([each.runs > own.runs, one.runs, each.findings]).toEqual([true, 1, []])
    const refused = await server.assay('verify', '--all', '--tenant', '*', ...acme)
    expect(refused).toMatchObject({ code: 2, stderr: expect.stringContaining('tenants:manage') })
  })

  test('finds what was changed in a file', async () => {
    const id = (await server.json('run', 'hello', '--wait')).value.runId
    const { events } = (await server.json('runs', 'events', id)).value
    const good = file('good.json', JSON.stringify(events))
    expect((await runHere(['verify', '--file', good])).code).toBe(0)
    const bad = file('bad.json', JSON.stringify(events.toSpliced(1, 1)))
    const { code, stdout } = await runHere(['verify', '--file', bad])
    expect(code).toBe(1)
    expect(stdout).toMatch(/findings/)
    expect((await runHere(['verify', '--file', file('no.json', '{')])).code).toBe(2)
  })

  test('wants to be told what to look at', async () => {
    expect(await runHere(['verify'])).toMatchObject({ code: 2 })
    expect(await runHere(['verify', 'x', '--all'])).toMatchObject({ code: 2 })
  })
})

describe('doctor', () => {
  test('finds a working host in order', async () => {
    const { code, value } = await server.json('doctor')
    expect(code).toBe(0)
    const levels = Object.fromEntries(
      value.checks.map((check: { name: string; level: string }) => [check.name, check.level]),
    )
    expect(levels).toMatchObject({
      node: 'ok',
      'data folder': 'ok',
      database: 'ok',
      key: 'ok',
      server: 'ok',
      clock: 'ok',
      'key accepted': 'ok',
    })
  })

  test('says what to do about what is wrong', async () => {
    const data = temporaryFolder()
    fs.chmodSync(data, 0o755)
    fs.writeFileSync(path.join(data, 'local-key'), 'hk_local_leaked\n', { mode: 0o644 })
    fs.writeFileSync(path.join(data, 'assay.db'), 'this is not a database')
    const env = { ASSAY_URL: 'http://127.0.0.1:2' }
    const { code, stdout } = await startAssay(['--data', data, 'doctor'], { env }).done
    expect(code).toBe(1)
    expect(stdout).toMatch(/warn {2}data folder .* open to other users\n.*chmod 700/)
    expect(stdout).toMatch(/fail {2}database .* not an SQLite database/)
    expect(stdout).toMatch(/fail {2}key .* can be read by other users/)
    expect(stdout).toMatch(/warn {2}server .*\n.*npm start/)
    fs.rmSync(data, { recursive: true })
  })
})

describe('wrong usage', () => {
  test.each([
    [['serv'], /Did you mean serve/],
    [['run'], /either a workflow, or an agent with --agent/],
    [['run', 'hello', '--input', 'nonsense'], /use name=value/],
    [['runs', 'list', '--limit', 'many'], /not a whole number/],
    [['--url', 'nowhere', 'runs', 'list'], /from --url/],
  ])('%j is refused, and what to change is said', async (args, message) => {
    const { code, stderr } = await runHere(args)
    expect(stderr).toMatch(message)
    expect(code).toBe(2)
  })

  test.each([
    [['frobnicate'], /unknown command/],
    [['serve', '--port', 'http'], /--port: port must be a whole number from 0 to 65535; got "http"/],
    [['serve', '--host', '0.0.0.0', '--port', '0', '--database', 'memory:'], /no key is configured; set ASSAY_API_KEY/],
  ])('%j exits 2 and says what to change', async (args, message) => {
    const cwd = temporaryFolder()
    const { code, stderr } = await startAssay(args, { cwd }).done
    expect(stderr).toMatch(message)
    expect(code).toBe(2)
    fs.rmSync(cwd, { recursive: true })
  })

  test('without a server it says how to start one', async () => {
    const { code, stderr } = await runHere(['--url', 'http://127.0.0.1:2', 'run', 'hello'])
    expect(code).toBe(2)
    expect(stderr).toMatch(/no answer from http:\/\/127\.0\.0\.1:2 \(ECONNREFUSED\)[\s\S]*npm start/)
  })

  test('an unknown workflow or run is refused with a hint', async () => {
    expect(await server.assay('run', 'nothing')).toMatchObject({
      code: 2,
      stderr: 'error: there is no workflow "nothing"; assay workflows list shows those there are\n',
    })
    expect(await server.assay('run', 'helo')).toMatchObject({
      code: 2,
      stderr: 'error: there is no workflow "helo"; did you mean hello?\n',
    })
    const { code, stderr } = await server.assay('runs', 'get', 'nothing')
    expect(code).toBe(2)
    expect(stderr).toMatch(/\[not_found\][\s\S]*assay runs list/)
  })

  test('--help is not an error', async () => {
    const { code, stdout } = await startAssay(['--help']).done
    expect(code).toBe(0)
    expect(stdout).toContain('exit codes: 0 ok')
  })
})
