import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { repository, type Server, startServer } from '../../cli/assay-process.js'
import { type ModelServer, type ServerStep, startModelServer } from '../../support/openai-server.js'

/** The example project as a user runs it: from the same files, offline and against a provider. */

const scratch = mkdtempSync(path.join(os.tmpdir(), 'assay-live-folder-'))
const project = path.join(scratch, 'project')
const KEY = 'sk-folder-0123456789abcdef0123456789'

const json = (value: object) => ({ kind: 'text' as const, text: JSON.stringify(value) })
const FACTS = { facts: ['Rain is wet.', 'Rain falls down.', 'Rain makes puddles.'] }
const BRIEF = { title: 'Wet', text: 'Rain is wet, falls down and makes puddles.' }

/** Each agent is known by its own prompt, the editor's turn by what it is told of the loop. */
const PLAN: readonly ServerStep[] = [
  { contains: 'You collect facts', reply: json({ result: FACTS, confidence: 0.9 }) },
  { contains: 'You write briefs', reply: json({ result: BRIEF, confidence: 0.9 }) },
  { contains: '"iteration":3,', reply: json({ kind: 'terminate', reason: 'goal-reached', confidence: 0.95 }) },
  {
    contains: '"iteration":2,',
    reply: json({ kind: 'next-worker', nextWorkerIds: ['local.example.writer'], confidence: 0.9 }),
  },
  {
    contains: 'You are the editor',
    reply: json({ kind: 'next-worker', nextWorkerIds: ['local.example.researcher'], confidence: 0.9 }),
  },
]

const NO_PROVIDER = { OPENAI_BASE_URL: '', OPENAI_API_KEY: '', OPENAI_MODEL: '' }
const OTHERS = { ANTHROPIC_API_KEY: '', GOOGLE_GENERATIVE_AI_API_KEY: '' }

const filesIn = (folder: string): readonly string[] =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter(entry => entry.isFile())
    .map(entry => path.join(entry.parentPath, entry.name))
    .sort()
    .map(file => `${file}\n${readFileSync(file, 'utf8')}`)

let model: ModelServer
let before: readonly string[]
beforeAll(async () => {
  cpSync(path.join(repository, 'examples/agents'), project, { recursive: true })
  before = filesIn(project)
  model = await startModelServer({ plan: PLAN })
})
afterAll(async () => {
  await model.close()
  rmSync(scratch, { recursive: true, force: true })
})

const serve = (name: string, env: NodeJS.ProcessEnv): Promise<Server> =>
  startServer(path.join(scratch, name), ['--project', project], { ...NO_PROVIDER, ...OTHERS, ...env })

/** Runs both workflows to their ends; returns what each came to. */
async function runBoth(server: Server): Promise<readonly object[]> {
  const runs = ['brief', 'newsroom'].map(async workflow => {
    const { code, value, stderr } = await server.json('run', workflow, '--input', 'topic=rain', '--wait')
    expect(code, stderr).toBe(0)
    return value
  })
  return Promise.all(runs)
}

/** Every log is legal, and a replay of each run is equal to it, by the words of the program itself. */
async function expectSound(server: Server): Promise<void> {
  const verified = await server.assay('verify', '--all')
  expect([verified.code, verified.stdout], verified.stderr).toEqual([0, expect.stringContaining('no findings')])
  const { value } = await server.json('runs', 'list')
  const top = value.runs.filter((run: { workflowId: string }) => ['brief', 'newsroom'].includes(run.workflowId))
  expect(top).toHaveLength(2)
  const replays = top.map(({ runId }: { runId: string }) => server.assay('runs', 'replay', runId, '--check'))
  for (const { code, stdout, stderr } of await Promise.all(replays))
    expect([code, stdout], stderr).toEqual([0, expect.stringContaining('replay is equal')])
}

describe('one project folder, offline and with a provider', () => {
  it('runs with the scripted model and without any network', async () => {
    const server = await serve('offline', {})
    const [brief, newsroom] = await runBoth(server)
    for (const run of [brief, newsroom])
      expect(run).toMatchObject({ status: 'completed', outputs: { title: 'After the rain' } })
    await expectSound(server)
    expect((await server.stop()).code).toBe(0)
    expect(model.requests()).toEqual([])
  })

  it('and with only OPENAI_BASE_URL and OPENAI_API_KEY changed against a provider, from the same files', async () => {
    const server = await serve('online', { OPENAI_BASE_URL: model.url, OPENAI_API_KEY: KEY })
    const [brief, newsroom] = await runBoth(server)
    for (const run of [brief, newsroom])
      expect(run).toMatchObject({ status: 'completed', outputs: { title: BRIEF.title, text: BRIEF.text } })
    // Two agents, then an editor's three turns with two workers.
    expect(model.requests()).toHaveLength(2 + 3 + 2)
    for (const { headers } of model.requests()) expect(headers.authorization).toBe(`Bearer ${KEY}`)
    const { value } = await server.json('agents', 'list')
    expect(value.agents.map((agent: { agentId: string }) => agent.agentId)).toEqual([
      'local.example.researcher',
      'local.example.writer',
    ])
    await expectSound(server)
    expect(model.requests()).toHaveLength(7)
    expect((await server.stop()).code).toBe(0)
    expect(filesIn(project)).toEqual(before)
  })
})
