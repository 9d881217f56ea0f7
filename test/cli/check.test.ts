import fs from 'node:fs'
import path from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { type Overrides, loadConfig } from '../../src/config.js'
import { createHost } from '../../src/host.js'
import { explainError } from '../../src/cli/terminal/explain.js'
import { repository, startAssay, temporaryFolder } from './assay-process.js'
import { runHere } from './command-line.js'

let folder: string
let project: string

beforeEach(() => {
  folder = temporaryFolder()
  project = path.join(folder, 'project')
  fs.cpSync(path.join(repository, 'examples/verification'), project, { recursive: true })
})

afterEach(() => fs.rmSync(folder, { recursive: true }))

const edit = (file: string, from: string, to: string) => {
  const text = fs.readFileSync(path.join(project, file), 'utf8')
  expect(text).toContain(from)
  fs.writeFileSync(path.join(project, file), text.replace(from, to))
}

const write = (file: string, text: string) => {
  fs.mkdirSync(path.dirname(path.join(project, file)), { recursive: true })
  fs.writeFileSync(path.join(project, file), text)
}

const check = async (...args: string[]) => runHere(['check', project, ...args])

/** What a host says that is started with the project: the lines of its refusal, or nothing when it serves. */
async function refusal(more: Overrides = {}): Promise<readonly string[]> {
  const silent = { info: () => undefined, warn: () => undefined, error: () => undefined }
  let host: Awaited<ReturnType<typeof createHost>> | undefined
  try {
    const config = loadConfig({ project, data: path.join(folder, 'data'), database: 'memory:', port: 0, ...more }, {})
    host = await createHost(config, { log: silent })
    await host.start()
    return []
  } catch (error) {
    return explainError(error)?.lines ?? [String(error)]
  } finally {
    await host?.stop()
  }
}

const MISTAKES: readonly (readonly [what: string, make: () => void, found: RegExp])[] = [
  ['YAML', () => write('workflows/open.yaml', 'nodes: ['), /open\.yaml: not valid YAML/],
  [
    'an edge that leads nowhere',
    () => edit('workflows/answer.yaml', 'targetNodeId: end', 'targetNodeId: ned'),
    /workflows\/answer\.yaml: .*ned/,
  ],
  [
    'an expression',
    () => edit('workflows/answer.yaml', 'variables.answer.answer', 'variables.answer.('),
    /workflows\/answer\.yaml: .*cannot be read as CEL/,
  ],
  [
    'an agent that is not there',
    () => edit('workflows/answer.yaml', 'local.example.answerer', 'local.example.anserer'),
    /workflows\/answer\.yaml: .*did you mean/,
  ],
  [
    'a probe’s path that the agent’s answer does not have',
    () => edit('gates/cited-answer.yaml', 'type: citation, path: /answer', 'type: citation, path: /anser'),
    /gates\/cited-answer\.yaml: .*\/anser/,
  ],
  [
    'an intent that is not there',
    () => edit('gates/cited-answer.yaml', '[true-answers]', '[true-answer]'),
    /gates\/cited-answer\.yaml: .*true-answer/,
  ],
  [
    'a field of the configuration',
    () => edit('assay.config.yaml', 'maxOutputTokens', 'maxOutputToken'),
    /assay\.config\.yaml: .*did you mean/,
  ],
  [
    'a price',
    () => edit('assay.config.yaml', 'output: 2, cacheRead', 'output: two, cacheRead'),
    /assay\.config\.yaml: prices/,
  ],
  [
    'a secret that is written down',
    () =>
      write(
        'assay.config.yaml',
        'tools: { mcp: { desk: { url: https://desk.example.com, headers: { Authorization: sesame } } } }',
      ),
    /headers\.Authorization must be \{ env/,
  ],
  [
    'a prompt that is not there',
    () => edit('agents/answerer.md', 'label: Answerer', 'label: Answerer\nsystemPromptRef: prompts/gone.md'),
    /agents\/answerer\.md: .*systemPrompt/,
  ],
  ['a schema', () => write('agents/schemas/answer.json', '{ "type": "objct" }'), /schemas\/answer\.json: the schema/],
  ['a pack', () => write('packs/desk/pack.json', '{ "name": 7 }'), /packs\/desk\/pack\.json: /],
  ['a tool', () => write('tools/desk.mjs', 'export default {}'), /tools\/desk\.mjs: /],
  [
    'a tool that an agent may use and nobody has',
    () => edit('agents/answerer.md', 'label: Answerer', 'label: Answerer\ntoolAllowlist: ["local:desk"]'),
    /agent local\.example\.answerer: toolAllowlist names "local:desk"/,
  ],
]

describe('what a host refuses to start with', () => {
  test.each(MISTAKES)('%s is found, in the very words of `serve`', async (_what, make, found) => {
    make()
    const { code, stdout, stderr } = await check()
    expect([code, stdout]).toEqual([1, ''])
    expect(stderr).toMatch(found)
    const served = await refusal()
    expect(served.length).toBeGreaterThan(0)
    expect(stderr.split('\n').filter(line => line.startsWith('error:'))).toEqual(served)
  })

  test('all at once, and for programs', async () => {
    edit('workflows/answer.yaml', 'targetNodeId: end', 'targetNodeId: ned')
    edit('workflows/answer-exactly.yaml', 'targetNodeId: end', 'targetNodeId: ned')
    const { code, stdout, stderr } = await check('--json')
    expect([code, stderr]).toEqual([1, ''])
    const { ok, problems } = JSON.parse(stdout)
    expect([ok, problems.map((problem: string) => problem.split(':')[0])]).toEqual([
      false,
      ['workflows/answer-exactly.yaml', 'workflows/answer.yaml'],
    ])
  })
})

describe('a project that is right', () => {
  const examples = fs.readdirSync(path.join(repository, 'examples'))

  test.each(examples)('examples/%s: nothing to say, and how much was looked at', async name => {
    const place = path.join(repository, 'examples', name)
    const workflows = fs.readdirSync(path.join(place, 'workflows')).length
    const { code, stdout, stderr } = await runHere(['check', place, '--json'])
    expect({ code, stderr, ...JSON.parse(stdout) }).toMatchObject({
      code: 0,
      stderr: '',
      ok: true,
      problems: [],
      warnings: [],
      checked: { workflows },
    })
  })

  test('nothing is left behind, and the address, the database and the data of the project are not touched', async () => {
    write(
      'assay.config.yaml',
      `host: 0.0.0.0\ndata: ${path.join(folder, 'kept')}\ndatabase: postgres://127.0.0.1:1/x\n`,
    )
    const before = fs.readdirSync(folder)
    expect(await check()).toMatchObject({ code: 0, stderr: '' })
    expect(fs.readdirSync(folder)).toEqual(before)
  })
})

describe('what may be mistaken is a warning, and no failure', () => {
  test('a secret that is not there, a model without a price, a price of nobody', async () => {
    edit('assay.config.yaml', 'models:', 'models:\n  worker: anthropic:claude-sonnet-4-5')
    edit('assay.config.yaml', 'budget: {', 'budget: { maxCostUsd: 1,')
    edit('assay.config.yaml', '  scripted:*:', '  opnai:*: { input: 1, output: 1 }\n  scripted:*:')
    const { code, stdout, stderr } = await check('--json')
    expect([code, stderr]).toEqual([0, ''])
    expect(JSON.parse(stdout).warnings).toEqual([
      expect.stringMatching(/^there is no secret in the variable ANTHROPIC_API_KEY/),
      'prices: anthropic:claude-sonnet-4-5 has none, so what it costs is not known, and budget.maxCostUsd does not hold it',
      'prices: opnai:* is of a provider that models.providers does not describe',
    ])
  })

  test('a variable that is read and not declared', async () => {
    edit('workflows/answer.yaml', 'variables.answer.answer', 'variables.anwser')
    const { code, stderr } = await check()
    expect(stderr).toMatch(/^warning: workflows\/answer\.yaml: .*did you mean variables\.answer/)
    expect(code).toBe(0)
  })

  test('a tool server that does not start', async () => {
    write('assay.config.yaml', 'tools: { mcp: { desk: { command: /nowhere/desk } } }\n')
    edit('agents/answerer.md', 'label: Answerer', 'label: Answerer\ntoolAllowlist: ["mcp:desk.find"]')
    const { code, stderr } = await check()
    expect(stderr).toMatch(/^warning: a tool server cannot be used server=desk reason=it cannot be started \(ENOENT\)/)
    expect(code).toBe(0)
  })
})

test('a script of the offline model that is none is found before anybody is asked', async () => {
  edit('scripted.yaml', '- agent: local.example.answerer', '- agnet: local.example.answerer')
  const { code, stderr } = await check()
  expect([code, stderr]).toEqual([1, expect.stringMatching(/^error: scripted\.yaml: entry 1 has "agnet"/)])
})

test('a folder without a project is no project; the working folder is looked at where none is named', async () => {
  const empty = path.join(folder, 'empty')
  fs.mkdirSync(empty)
  expect(await startAssay(['check'], { cwd: empty }).done).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/^error: .*empty: no project is here; it needs workflows\//),
  })
  expect(await startAssay(['check'], { cwd: project }).done).toMatchObject({
    code: 0,
    stdout: '. ok: 2 workflows, 2 gates, 2 intents, 2 pieces of knowledge\n',
  })
})
