import fs from 'node:fs'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { main } from '../../src/cli/main.js'
import { loadConfig } from '../../src/config.js'
import { createHost, type Host } from '../../src/host.js'
import { freePort } from '../support/free-port.js'
import { startModelServer } from '../support/openai-server.js'
import { repository, temporaryFolder } from './assay-process.js'

/** The example with two agents, and the command line in this process: nothing here needs a build. */
let folder: string
let host: Host

/** Of the environment the host sees what it is given, and nothing of the developer's own. */
async function startExample(data: string, env: { readonly [name: string]: string } = {}): Promise<Host> {
  const project = path.join(repository, 'examples/agents')
  const flags = { project, data, port: String(await freePort()), 'log.level': 'silent' }
  const started = await createHost(loadConfig(flags, env, folder))
  await started.start()
  return started
}

beforeAll(async () => {
  folder = temporaryFolder()
  host = await startExample(path.join(folder, 'data'))
})

afterAll(async () => {
  await host.stop()
  fs.rmSync(folder, { recursive: true })
})

async function assayAt(data: string, ...args: string[]) {
  const out: string[] = []
  const notes: string[] = []
  const terminal = {
    out: (line: string) => void out.push(line),
    note: (line: string) => void notes.push(line),
    draw: () => undefined,
    isLive: false,
    columns: 120,
    readStdin: async () => '',
  }
  const code = await main(['--data', data, ...args], terminal)
  return { code, out: out.join('\n'), notes: notes.join('\n') }
}

const assay = (...args: string[]) => assayAt(path.join(folder, 'data'), ...args)

const json = async (...args: string[]) => JSON.parse((await assay(...args, '--json')).out)

const BRIEF = { title: 'After the rain', text: expect.stringContaining('petrichor') }

describe('R-MANIF-1: agents and tools', () => {
  test('agents are listed and shown', async () => {
    const { code, out } = await assay('agents', 'list')
    expect(code).toBe(0)
    expect(out).toMatch(/^local\.example\.researcher +Researcher +research +local\.agents@1\.0\.0/m)
    expect(out).toMatch(/^local\.example\.writer +Writer +writing/m)
    const shown = (await assay('agents', 'show', 'local.example.writer')).out
    expect(shown).toMatch(/^tools +none$/m)
    expect(shown).toMatch(/^checks +its task/m)
    expect(shown).not.toContain('You write briefs')
  })

  test('an agent that is not there is refused with what to do', async () => {
    const { code, notes } = await assay('agents', 'show', 'local.example.nobody')
    expect([code, notes]).toEqual([2, expect.stringMatching(/\[not_found\][\s\S]*assay agents list/)])
  })

  test('tools are listed', async () => {
    const { code, out } = await assay('tools', 'list')
    expect([code, out]).toEqual([0, expect.stringMatching(/^TOOL +FROM +MAY +NEEDS +ABOUT/)])
    const { tools } = await json('tools', 'list')
    for (const { toolId } of tools) expect(await json('tools', 'show', toolId)).toMatchObject({ toolId })
  })
})

describe('the examples do what they say', () => {
  test('brief: the researcher’s notes become the writer’s task', async () => {
    const { code, out, notes } = await assay('run', 'brief', '--follow')
    expect(code, notes).toBe(0)
    expect(JSON.parse(out)).toEqual(BRIEF)
    const told = notes.split('\n').map(line => line.split(/^\S+ +\d+ /)[1] ?? '')
    expect(told).toEqual(
      expect.arrayContaining([
        'agent.invocation.started research  local.example.researcher with scripted:scripted, 0 tools',
        expect.stringMatching(/^assay\.model\.requested research {2}model call 1: \d+ tokens set aside$/),
        expect.stringMatching(/^provider\.usage research {2}scripted:scripted \d+ in, \d+ out, \$0$/),
        expect.stringMatching(/^agent\.invocation\.completed write {2}local\.example\.writer completed/),
      ]),
    )
    // R-LIVE-17: what was asked and said is in no line of it but in those of the results.
    for (const line of told.filter(text => /^(agent\.invocation|assay\.model|provider|prompt|budget)/.test(text)))
      expect(line).not.toMatch(/petrichor|You collect/)
  })

  test('newsroom: a supervisor hands over to agents and ends', async () => {
    const { code, out, notes } = await assay('run', 'newsroom', '--follow')
    expect(code, notes).toBe(0)
    expect(JSON.parse(out)).toEqual(BRIEF)
    expect(notes).toContain('turn 1: next-worker local.example.researcher (confidence 0.9)')
    expect(notes).toContain('turn 3: terminate goal-reached (confidence 0.95)')
  })

  test('a topic that the script does not know has an answer too', async () => {
    const { code, out } = await assay('run', 'brief', '--input', 'topic=snow', '--wait')
    expect([code, JSON.parse(out)]).toEqual([0, { title: 'Nothing yet', text: expect.any(String) }])
  })
})

test('the same project runs against any server that speaks OpenAI’s protocol, with two variables changed', async () => {
  const answer = (result: object) => ({ kind: 'text', text: JSON.stringify({ result, confidence: 0.9 }) }) as const
  const server = await startModelServer({
    plan: [
      { contains: 'You collect facts', reply: answer({ facts: ['Snow is frozen.'] }) },
      { contains: 'You write briefs', reply: answer({ title: 'Snow', text: 'Snow is frozen.' }) },
    ],
  })
  const data = path.join(folder, 'live')
  const live = await startExample(data, { OPENAI_BASE_URL: server.url, OPENAI_API_KEY: 'sk-test-123456789' })
  try {
    const { code, out, notes } = await assayAt(data, 'run', 'brief', '--input', 'topic=snow', '--follow')
    expect(code, notes).toBe(0)
    expect(JSON.parse(out)).toEqual({ title: 'Snow', text: 'Snow is frozen.' })
    expect(notes).toContain('local.example.writer with openai:gpt-5-mini')
    const [first, second, ...more] = server.requests()
    expect([first?.headers.authorization, more]).toEqual(['Bearer sk-test-123456789', []])
    expect(JSON.stringify(second?.body.messages)).toContain('Snow is frozen.')
    const discovery = (await (await fetch(`${live.url}/.well-known/openwop`)).json()) as { aiProviders: object }
    expect(discovery.aiProviders).toEqual({ supported: ['openai', 'scripted'], byok: [] })
  } finally {
    await live.stop()
    await server.close()
  }
})

describe('a run of an agent', () => {
  test('R-LIVE-24: run --agent gives it a task', async () => {
    const run = ['run', '--agent', 'local.example.researcher', '--input', 'task=rain', '--wait']
    const { code, out, notes } = await assay(...run)
    expect(code, notes).toBe(0)
    expect(JSON.stringify(JSON.parse(out))).toContain('petrichor')
  })

  test('R-LIVE-10: a task that breaks the agent’s schema fails the run before anything is called', async () => {
    const { code, notes } = await assay('run', '--agent', 'local.example.writer', '--input', 'task=rain', '--wait')
    expect([code, notes]).toEqual([1, expect.stringContaining('handoff_task_schema_violation')])
  })

  test.each([[[]], [['brief', '--agent', 'local.example.writer']]])('run %j is not understood', async args => {
    const { code, notes } = await assay('run', ...args)
    expect([code, notes]).toEqual([2, expect.stringContaining('either a workflow, or an agent with --agent')])
  })

  test('R-LIVE-25: chat gives it the message', async () => {
    const { code, out, notes } = await assay('chat', '@researcher what is rain?', '--wait')
    expect(code, notes).toBe(0)
    expect(out).toContain('petrichor')
    const plain = await assay('chat', '@researcher what is rain?')
    expect([plain.code, plain.out]).toEqual([0, expect.stringContaining('petrichor')])
    const detached = await assay('chat', '@researcher what is rain?', '--detach')
    expect(detached.out).toMatch(/^[0-9a-f-]{36}$/)
    const lost = await assay('chat', 'what is rain?')
    expect(lost.code).toBe(2)
    expect(lost.notes).toMatch(/mentions no agent[\s\S]*local\.example\.writer/)
  })

  test('chat goes on at a terminal, with the same agent in one conversation, until an empty line', async () => {
    const out: string[] = []
    const questions: string[] = []
    const lines = ['and snow?', '@researcher and hail?', '']
    const terminal = {
      out: (line: string) => void out.push(line),
      note: () => undefined,
      draw: () => undefined,
      isLive: false,
      columns: 120,
      readStdin: async () => '',
      converse: () => ({
        ask: async (question: string) => {
          questions.push(question)
          return lines.shift()
        },
        end: () => undefined,
      }),
    }
    const code = await main(['--data', path.join(folder, 'data'), 'chat', '@researcher what is rain?'], terminal)
    expect(code).toBe(0)
    expect(questions).toHaveLength(3)
    expect(questions[0]).toContain('@local.example.researcher >')
    expect(out.join('\n')).toContain('petrichor')
    const { runs } = await json('runs', 'list', '--limit', '3')
    const started = await Promise.all(runs.map((run: { runId: string }) => json('runs', 'events', run.runId)))
    const told = started.map(({ events }) => events[0].payload)
    expect(new Set(told.map(({ scopeId }) => scopeId)).size).toBe(1)
    expect(told.map(({ inputs }) => inputs.task).toReversed()).toEqual(['what is rain?', 'and snow?', 'and hail?'])
  })

  test('R-BUDGET-2: runs get shows what was spent against the ceilings', async () => {
    const budget = ['--configurable', 'budget={"maxTokens":100000,"maxCostUsd":0.5}']
    const { runId } = await json('run', 'brief', '--wait', ...budget)
    const { out } = await assay('runs', 'get', runId)
    expect(out).toMatch(/^tokens +[1-9]\d* of 100000$/m)
    expect(out).toMatch(/^cost +\$0 of \$0\.5$/m)
    expect(out).toMatch(/^tool calls +0 of 50$/m)
  })

  test('R-BUDGET-4: what could go over the ceiling is not called', async () => {
    const { code, notes } = await assay('run', 'brief', '--wait', '--configurable', 'budget={"maxTokens":10}')
    expect([code, notes]).toEqual([1, expect.stringContaining('budget_exhausted')])
  })
})
