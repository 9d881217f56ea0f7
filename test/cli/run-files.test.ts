import fs from 'node:fs'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Server, startServer, temporaryFolder } from './assay-process.js'

const WRITER = 'local.files.writer'
const PROJECT: { readonly [name: string]: string } = {
  'assay.config.yaml': 'models: { script: script.yaml }\n',
  'script.yaml': `
- agent: ${WRITER}
  when: { round: 1 }
  reply:
    tools:
      - { tool: "assay:workspace.write", args: { path: reports/may.md, content: "All is well.\\n" } }
- agent: ${WRITER}
  reply: { text: done, confidence: 0.9 }
`,
  'agents/writer.yaml': `
agentId: ${WRITER}
persona: Writer
modelClass: writing
systemPrompt: You write files.
toolAllowlist: ["assay:workspace.write"]
`,
  'workflows/report.yaml': `
id: report
nodes:
  - { id: write, typeId: core.agent, agent: { agentId: ${WRITER} }, inputs: { task: { type: static, value: go } } }
`,
  'workflows/give.yaml': `
id: give
variables:
  - { name: report, type: string }
  - { name: table, type: object }
nodes:
  - { id: end, typeId: core.end, inputs: { report: { type: variable, variableName: report }, table: { type: variable, variableName: table } } }
`,
}
const BINARY = Buffer.from([0x89, 0x50, 0, 0xff, 10])

let folder: string
let server: Server

const here = (name: string, content: string | Buffer): string => {
  const file = path.join(folder, name)
  fs.mkdirSync(path.dirname(file), { recursive: true })
  fs.writeFileSync(file, content)
  return file
}

beforeAll(async () => {
  folder = temporaryFolder()
  for (const [name, content] of Object.entries(PROJECT)) here(`project/${name}`, content)
  server = await startServer(path.join(folder, 'data'), ['--project', path.join(folder, 'project')])
})

afterAll(async () => {
  await server?.stop()
  fs.rmSync(folder, { recursive: true })
})

describe('files that a run takes in', () => {
  const given = async (...args: string[]) => {
    const { value, stderr } = await server.json('run', 'give', '--wait', ...args)
    expect(value.status, stderr).toBe('completed')
    return value.variables.table ?? value.variables.report
  }

  test('are text, JSON, or a place in the workspace; later ones win', async () => {
    const text = here('r.md', '# May\n')
    expect(await given('--input', `report=@${text}`)).toBe('# May\n')
    expect(await given('--input', `table=@${here('r.json', '{"a": [1]}')}`)).toEqual({ a: [1] })
    const { file, version } = await given('--input', `table=@${here('r.png', BINARY)}`)
    expect([file, version]).toEqual([expect.stringMatching(/^inputs\/.+\/r\.png$/), 1])
    const out = path.join(folder, 'back.png')
    await server.assay('workspace', 'get', file, '--out', out)
    expect(fs.readFileSync(out)).toEqual(BINARY)
    expect(await given('--input', `report=@${text}`, '--input', 'report=plain')).toBe('plain')
    expect(await given('--input', 'report=plain', '--input', `report=@${text}`)).toBe('# May\n')
    expect(await given('--input', 'report="@ann"')).toBe('@ann')
  })

  test('go with a key: the same command again finds the same run', async () => {
    const again = () =>
      server.json('run', 'give', '--idempotency-key', 'k1', '--input', `table=@${here('k.png', BINARY)}`)
    const [first, second] = [(await again()).value, (await again()).value]
    expect(second.runId).toBe(first.runId)
  })

  test.each([
    ['report=@/no/such/file', /report=@\/no\/such\/file: no such file; a text that begins with @ needs quotes/],
    ['report=@/tmp', /report=@\/tmp is a folder; name a file/],
    ['run=@/tmp/x', /a file cannot be sent for an input named run/],
  ])('%s is refused with what to change', async (input, message) => {
    const { code, stderr } = await server.assay('run', 'give', '--input', input)
    expect([code, stderr]).toEqual([2, expect.stringMatching(message)])
  })
})

describe('files that a run gives out', () => {
  test('are listed as they were at its end, and shown', async () => {
    await server.assay('workspace', 'put', 'other.md', here('other.md', 'not of a run'))
    const { value, stderr } = await server.json('run', 'report', '--wait')
    expect(value.status, stderr).toBe('completed')
    const { runId } = value
    await server.assay('workspace', 'put', 'reports/may.md', here('later.md', 'changed since'))
    const listed = (await server.assay('runs', 'files', runId)).stdout
    expect(listed).toMatch(/^reports\/may\.md +1 +13 /m)
    expect(listed).not.toMatch(/other\.md/)
    expect((await server.assay('runs', 'files', runId, 'get', 'reports/may.md')).stdout).toBe('All is well.\n')
    expect((await server.json('runs', 'files', runId)).value.files).toHaveLength(1)
    const wrong = await server.assay('runs', 'files', runId, 'put', 'x')
    expect([wrong.code, wrong.stderr]).toEqual([2, expect.stringMatching(/use `assay runs files \S+` or .* get PATH/)])
    const gone = await server.assay('runs', 'files', runId, 'get', 'never.md')
    expect([gone.code, gone.stderr]).toEqual([2, expect.stringMatching(/\[not_found\]/)])
  })
})
