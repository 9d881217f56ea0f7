import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { loadConfig } from '../../src/config.js'
import { createHost, type Host } from '../../src/host.js'
import { node, workflow } from './harness.js'

let project: string
let host: Host | undefined
const lines: { readonly level: string; readonly fields: Any }[] = []

// biome-ignore lint/suspicious/noExplicitAny: a test reads what it expects
type Any = any

beforeEach(() => {
  project = mkdtempSync(path.join(os.tmpdir(), 'assay-doubts-'))
  for (const folder of ['workflows', 'agents']) mkdirSync(path.join(project, folder))
  lines.length = 0
})
afterEach(async () => {
  await host?.stop()
  host = undefined
  rmSync(project, { recursive: true })
})

const KEY = 'a key for the tests of doubts'.replaceAll(' ', '-')

async function serve(): Promise<void> {
  const settings = { project, port: '0', database: 'memory:', data: path.join(project, 'data') }
  const at = (level: string) => (fields: object) => void lines.push({ level, fields })
  const log = { info: at('info'), warn: at('warn'), error: at('error') }
  host = await createHost(loadConfig(settings, { ASSAY_API_KEY: KEY }, project), { log })
  await host.start()
}

const call = async (url: string, method = 'GET', body?: object): Promise<Any> => {
  const headers = { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' }
  const reply = await fetch(`${host?.url}${url}`, { method, headers, ...(body && { body: JSON.stringify(body) }) })
  return reply.json()
}

const write = (file: string, value: unknown) =>
  writeFileSync(path.join(project, file), typeof value === 'string' ? value : JSON.stringify(value))

const agent = (more = '') =>
  write('agents/writer.yaml', `agentId: local.team.writer\nmodelClass: writing\nsystemPrompt: Write.\n${more}`)

/** A server that is not there: nothing listens on this port. */
const DEAD = 'tools: { mcp: { words: { url: "http://127.0.0.1:9/mcp" } } }\n'

describe('what a project names and nobody has', () => {
  test.each<[string, object, string]>([
    [
      'an agent',
      node('a', 'core.agent', { config: { agentId: 'local.team.writr' } }),
      'nodes["a"].config.agentId names "local.team.writr", and there is no such agent here; did you mean local.team.writer?',
    ],
    [
      'a workflow',
      node('a', 'core.subWorkflow', { config: { workflowId: 'chlid' } }),
      'nodes["a"].config.workflowId names "chlid", and there is no such workflow or agent here',
    ],
  ])('%s: the host does not start, and says where it is named', async (_what, named, message) => {
    agent()
    write('workflows/main.json', workflow('main', [named]))
    await expect(serve()).rejects.toThrow(`${path.join('workflows', 'main.json')}: ${message}`)
  })

  test('workflows may name each other, whatever the order of their files', async () => {
    agent()
    write('workflows/a.json', workflow('a', [node('s', 'core.subWorkflow', { config: { workflowId: 'b' } })]))
    write('workflows/b.json', workflow('b', [node('w', 'core.agent', { config: { agentId: 'local.team.writer' } })]))
    await serve()
    expect((await call('/v1/workflows')).workflows).toHaveLength(2)
  })

  test('R-TOOL-2: a tool that nothing can have: the host does not start', async () => {
    agent('toolAllowlist: ["mcp:wrods.lookup"]\n')
    await expect(serve()).rejects.toThrow(
      'agent local.team.writer: toolAllowlist names "mcp:wrods.lookup", and there is no such tool here',
    )
  })

  test('R-TOOL-2: a tool whose server does not answer is not unknown; the agent lacks it, and its node fails', async () => {
    agent('toolAllowlist: ["mcp:words.lookup"]\n')
    write('assay.config.yaml', `${DEAD}models: { worker: "scripted:default" }\n`)
    write(
      'workflows/main.json',
      workflow('main', [node('a', 'core.agent', { config: { agentId: 'local.team.writer' } })]),
    )
    await serve()
    expect((await call('/v1/agents')).agents).toMatchObject([{ degraded: ['mcp:words.lookup'] }])
    expect(await call('/v1/agents/local.team.writer')).toMatchObject({ degraded: ['mcp:words.lookup'] })
    const { runId } = await call('/v1/runs', 'POST', { workflowId: 'main', inputs: { task: 'x' } })
    await expect.poll(async () => (await call(`/v1/runs/${runId}`)).status, { timeout: 10_000 }).toBe('failed')
    expect((await call(`/v1/runs/${runId}`)).error).toMatchObject({ code: 'tool_unavailable' })
  })
})

describe('over the API the same is taken, and told', () => {
  const doubtful = workflow(
    'late',
    [
      node('a', 'core.agent', { config: { agentId: 'local.team.writr' } }),
      node('s', 'core.subWorkflow', { config: { workflowId: 'main-' } }),
      node('i', 'core.identity', { inputs: { payload: { type: 'expression', expression: 'inputs.topik' } } }),
    ],
    { variables: [{ name: 'topic', type: 'string' }] },
  )
  const WARNINGS = [
    'nodes["a"].config.agentId names "local.team.writr", and there is no such agent here; did you mean local.team.writer?',
    'nodes["s"].config.workflowId names "main-", and there is no such workflow or agent here; did you mean main?',
    'nodes["i"].inputs.payload reads inputs.topik, which the workflow does not declare; did you mean inputs.topic?',
  ]

  test('in the answer to registering and to validating; a workflow without doubts has none', async () => {
    agent()
    write('workflows/main.json', workflow('main', [node('n', 'core.noop')]))
    await serve()
    expect((await call('/v1/workflows:validate', 'POST', doubtful)).warnings).toEqual(WARNINGS)
    expect(await call('/v1/workflows/late', 'PUT', doubtful)).toMatchObject({ workflowId: 'late', warnings: WARNINGS })
    expect(await call('/v1/workflows', 'POST', workflow('fine', [node('n', 'core.noop')]))).not.toHaveProperty(
      'warnings',
    )
    const { runId } = await call('/v1/runs', 'POST', { workflowId: 'late', inputs: { topik: 'x' } })
    await expect.poll(async () => (await call(`/v1/runs/${runId}`)).status).toBe('failed')
  })

  test('in the log of a host that loads it from its project', async () => {
    write('workflows/main.json', {
      ...workflow('main', [
        node('i', 'core.identity', { inputs: { payload: { type: 'expression', expression: 'inputs.x' } } }),
      ]),
    })
    await serve()
    expect(lines.filter(({ level, fields }) => level === 'warn' && fields.warning)).toMatchObject([
      { fields: { file: path.join('workflows', 'main.json'), warning: expect.stringContaining('reads inputs.x') } },
    ])
  })
})
