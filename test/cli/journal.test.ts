import fs from 'node:fs'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Server, startAssay, startServer, temporaryFolder } from './assay-process.js'

let folder: string
let server: Server

const workflow = (id: string, content: string) => ({
  id,
  nodes: [
    {
      id: 'note',
      typeId: 'core.memoryPut',
      config: { memoryRef: 'people', memoryId: 'ann', content, tags: ['friends'] },
    },
    { id: 'look', typeId: 'core.memoryGet', config: { memoryRef: 'people', memoryId: 'ann' } },
  ],
  edges: [{ sourceNodeId: 'note', targetNodeId: 'look' }],
})

const here = (name: string, content: string | Buffer): string => {
  const file = path.join(folder, name)
  fs.writeFileSync(file, content)
  return file
}

beforeAll(async () => {
  folder = temporaryFolder()
  server = await startServer(path.join(folder, 'data'))
  for (const [id, content] of [
    ['first', 'Ann likes snow.'],
    ['second', 'Ann likes rain.'],
  ] as const) {
    const file = here(`${id}.json`, JSON.stringify(workflow(id, content)))
    const put = await server.assay('workflows', 'put', file)
    expect(put.code, put.stderr).toBe(0)
  }
})

afterAll(async () => {
  await server.stop()
  fs.rmSync(folder, { recursive: true })
})

describe('memory', () => {
  let first: string

  test('what runs wrote is listed, found, shown, and shown as a run saw it', async () => {
    first = (await server.json('run', 'first', '--scope', 'team', '--wait')).value.runId
    await server.json('run', 'second', '--scope', 'team', '--wait')
    expect((await server.assay('memory', 'scopes')).stdout).toMatch(/^team +1 +2$/m)
    const listed = await server.assay('memory', 'list', '--scope', 'team')
    expect(listed.stdout, listed.stderr).toMatch(/^ann +people +friends +\S+ +Ann likes rain\.$/m)
    expect((await server.assay('memory', 'search', 'rain', 'ann', '--scope', 'team')).stdout).toMatch(/^ann /m)
    expect((await server.assay('memory', 'search', 'snow', '--scope', 'team')).stdout).not.toMatch(/^ann /m)
    const now = await server.assay('memory', 'get', 'ann', '--ref', 'people', '--scope', 'team')
    expect(now.stdout).toBe('Ann likes rain.\n')
    expect(now.stderr).toMatch(/^written \S+ by \S+:\d+, tags friends$/m)
    const then = await server.assay('memory', 'get', 'ann', '--ref', 'people', '--at', `${first}:end`)
    expect(then.stdout).toBe('Ann likes snow.\n')
    const before = await server.assay('memory', 'list', '--at', `${first}:1`)
    expect(before.stdout).not.toMatch(/ann/)
  })

  test('forgetting says how many runs hold a copy, which, and what removes those', async () => {
    const forgotten = await server.assay('memory', 'forget', 'ann', '--ref', 'people', '--scope', 'team')
    expect(forgotten.stdout, forgotten.stderr).toBe('ann forgotten\n')
    expect(forgotten.stderr).toMatch(/^2 runs hold a copy: \S+, \S+$/m)
    expect(forgotten.stderr).toMatch(/retention of runs, or erasing the tenant, removes those/)
    expect((await server.json('memory', 'list', '--scope', 'team')).value.entries).toEqual([])
    const then = await server.assay('memory', 'get', 'ann', '--ref', 'people', '--at', `${first}:end`)
    expect(then.stdout).toBe('Ann likes snow.\n')
    const again = await server.assay('memory', 'forget', 'ann', '--ref', 'people', '--scope', 'team')
    expect([again.code, again.stderr]).toEqual([2, expect.stringMatching(/\[not_found\][\s\S]*assay memory scopes/)])
    // Those who hold a copy do so whatever was forgotten before.
    const gone = await server.assay('memory', 'forget', 'ann', '--ref', 'people', '--scope', 'team', '--destroy')
    expect(gone.stdout, gone.stderr).toBe('ann forgotten, 2 versions destroyed\n')
    expect(gone.stderr).toMatch(/^2 runs hold a copy: \S+, \S+$/m)
  })

  test('R-MEM-22: consolidating an empty corpus does nothing', async () => {
    const done = await server.assay('memory', 'consolidate', 'people', '--scope', 'team')
    expect(done.stdout, done.stderr).toBe('0 entries, 0 kept\n')
  })

  test.each([
    [['list'], /say where to look: --scope NAME .*, or --at RUN:SEQ/],
    [['list', '--scope', 'team', '--at', 'r:1'], /--scope and --at do not go together/],
    [['list', '--at', 'yesterday'], /--at "yesterday" is not understood; use RUN:SEQ/],
    [['list', '--at', 'never:1'], /\[not_found\]/],
    [['get', 'ann', '--scope', 'team'], /required option '--ref <memoryRef>' not specified/],
    [['forget', 'ann', '--ref', 'people'], /required option '--scope <scope>' not specified/],
    [['list', '--scope', 'team', '--limit', 'many'], /"many" is not a whole number/],
    [['serach', 'x'], /Did you mean search\?/],
    [['search', '', '--scope', 'team'], /there is no word in "" to search for; `assay memory list` shows all entries/],
    [['search', '!?', '--scope', 'team'], /there is no word in "!\?" to search for/],
    [['list', '--scope', 'team', '--tag', 'x'.repeat(300)], /query\.tag must have at most 256 characters; got 300/],
  ])('%j is refused with what to change', async (args, message) => {
    const { code, stderr } = await server.assay('memory', ...args)
    expect(code).toBe(2)
    expect(stderr).toMatch(message)
  })
})

test('a scope that has nothing says where to look', async () => {
  const { code, stderr } = await server.assay('memory', 'list', '--scope', 'nowhere')
  expect([code, stderr]).toEqual([0, 'no entries there; `assay memory scopes` shows where there are some\n'])
})

describe('workspace', () => {
  const BINARY = Buffer.from([0x89, 0x50, 0, 0xff, 10])

  test('long files come and go as they are, from a file, through pipes and into files, and half of one replaces nothing', async () => {
    const bytes = Buffer.from(Array.from({ length: 1_500_000 }, (_, i) => (i * 31) % 256))
    const file = here('long.bin', bytes)
    expect((await server.assay('workspace', 'put', 'long', file)).stdout).toBe('long version 1\n')
    const out = path.join(folder, 'long.out')
    fs.writeFileSync(out, 'before')
    expect((await server.assay('workspace', 'get', 'long', '--out', out)).stderr).toMatch(/^1500000 bytes written to /m)
    expect(fs.readFileSync(out).equals(bytes)).toBe(true)
    expect((await server.assay('workspace', 'get', 'nowhere', '--out', out)).code).toBe(2)
    expect(fs.readFileSync(out).equals(bytes)).toBe(true)
    expect(fs.readdirSync(folder).filter(name => name.endsWith('.part'))).toEqual([])
    const nowhere = await server.assay('workspace', 'get', 'long', '--out', path.join(folder, 'no', 'x'))
    expect([nowhere.code, nowhere.stderr]).toEqual([2, expect.stringMatching(/--out .*: there is no folder /)])
    const listed = (await server.json('workspace', 'ls', 'long')).value.files
    expect(listed).toMatchObject([{ path: 'long', size: bytes.length, contentType: 'application/octet-stream' }])
  })

  test('files are put, listed, read back byte by byte, compared and removed', async () => {
    const report = here('report.md', '# May\n\nall well\n')
    expect((await server.assay('workspace', 'put', 'reports/may.md', report)).stdout).toBe('reports/may.md version 1\n')
    expect((await server.assay('workspace', 'put', 'a.png', here('a.png', BINARY), '--if-match', '0')).code).toBe(0)
    expect((await server.assay('workspace', 'put', 'data.json', here('d.json', '{"a": 1}\n'))).code).toBe(0)
    const listed = (await server.assay('workspace', 'ls')).stdout
    expect(listed).toMatch(/^reports\/may\.md +1 +16 +text\/markdown +\S+$/m)
    expect(listed).toMatch(/^a\.png +1 +5 +image\/png/m)
    expect((await server.assay('workspace', 'ls', 'reports/')).stdout).not.toMatch(/a\.png/)
    expect((await server.assay('workspace', 'get', 'data.json')).stdout).toBe('{"a": 1}\n')
    const out = path.join(folder, 'b.png')
    expect((await server.assay('workspace', 'get', 'a.png', '--out', out)).code).toBe(0)
    expect(fs.readFileSync(out)).toEqual(BINARY)
    expect((await server.assay('workspace', 'diff', 'reports/may.md', report)).code).toBe(0)
    const changed = here('changed.md', '# May\n\nnot all well\n')
    const diff = await server.assay('workspace', 'diff', 'reports/may.md', changed)
    expect([diff.code, diff.stdout]).toEqual([1, '  # May\n  \n- all well\n+ not all well\n  \n'])
    await server.assay('workspace', 'put', 'reports/may.md', changed, '--if-match', '1')
    expect((await server.assay('workspace', 'get', 'reports/may.md', '--revision', '1')).stdout).toMatch(/^all well$/m)
    const versions = await server.assay('workspace', 'diff', 'reports/may.md', '--from', '1')
    expect([versions.code, versions.stdout]).toEqual([1, diff.stdout])
    expect((await server.assay('workspace', 'rm', 'reports/may.md', '--if-match', '2')).stdout).toBe(
      'reports/may.md removed\n',
    )
    expect((await server.assay('workspace', 'ls', 'reports/')).stdout).not.toMatch(/may/)
  })

  test('bytes go into a pipe as they are', async () => {
    const running = startAssay(['--data', server.data, 'workspace', 'get', 'a.png'])
    const chunks: Buffer[] = []
    running.child.stdout?.on('data', (chunk: Buffer | string) => chunks.push(Buffer.from(chunk as string, 'latin1')))
    running.child.stdout?.setEncoding('latin1')
    expect((await running.done).code).toBe(0)
    expect(Buffer.concat(chunks)).toEqual(BINARY)
  })

  test.each([
    [['put', '../x', 'REPORT'], /path must have neither empty parts nor \. or \.\.,.*; got "\.\.\/x"/],
    [['put', 'x'.repeat(300), 'REPORT'], /path must be 1 to 256 of .*; got "x{64}"…, 300 characters/],
    [
      ['put', 'x.md', 'REPORT', '--type', 'bogus'],
      /a type is two words with a slash between them, such as text\/markdown/,
    ],
    [
      ['put', 'data.json', 'REPORT', '--if-match', '0'],
      /was not changed: there was to be none, and its version is 1 now/,
    ],
    [
      ['get', 'data.json', '--revision', '9'],
      /File data\.json has no version 9 that can be read; its version is 1 now/,
    ],
    [['put', 'a b.md', 'REPORT'], /path must be 1 to 256 of .*; got "a b\.md"/],
    [['put', 'x.md', '/no/such/file'], /\/no\/such\/file: no such file/],
    [['put', 'x.md', '/tmp'], /\/tmp is a folder; name a file/],
    [
      ['put', 'data.json', 'REPORT', '--if-match', '7'],
      /\[workspace_conflict\][\s\S]*currentVersion: 1[\s\S]*--if-match/,
    ],
    [['put', 'data.json', 'REPORT', '--if-match', 'latest'], /a version is a whole number such as 3/],
    [['get', 'never.md'], /\[not_found\][\s\S]*assay workspace ls/],
    [['get', 'a.png'], /a\.png is no text; save it with --out FILE/],
    [['rm', 'never.md'], /\[not_found\]/],
    [['diff', 'data.json', 'REPORT', '--from', '1'], /not both/],
    [['diff', 'data.json', '--to', '1'], /--to needs --from/],
  ])('%j is refused with what to change', async (args, message) => {
    const report = here('plain.md', 'plain')
    const { code, stderr } = await server.assay('workspace', ...args.map(arg => (arg === 'REPORT' ? report : arg)))
    expect(code, stderr).toBe(2)
    expect(stderr).toMatch(message)
  })
})
