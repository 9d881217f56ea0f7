import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { AssayClient } from '../../../src/client/assay-client.js'
import { readLocalKey } from '../../../src/client/local-key.js'
import { loadConfig } from '../../../src/config.js'
import { createHost, type Host } from '../../../src/host.js'

let folder: string
let project: string
let host: Host
let client: AssayClient

const write = (file: string, text: string) => {
  fs.mkdirSync(path.dirname(path.join(project, file)), { recursive: true })
  fs.writeFileSync(path.join(project, file), text)
}

const says = (text: string) => `
nodes:
  - id: ask
    typeId: core.approvalGate
    config: { title: Go on?, actions: [accept, reject] }
  - id: end
    typeId: core.end
    inputs: { said: { type: static, value: ${text} } }
edges:
  - { sourceNodeId: ask, targetNodeId: end }
`

const agent = (prompt: string, tools = '[]') => `---
agentId: local.desk.clerk
modelClass: general
toolAllowlist: ${tools}
---
${prompt}
`

const gate = (least: number) => `
name: Long enough
position: { workflow_id: work, phase_id: write, placement: phase_exit }
intent_refs: [plain]
evaluation_criteria:
  - dimension: length
    description: It has enough letters.
    scale: { min: 0, max: 1, type: integer }
    pass_threshold: 1
    probes: [{ type: regex, pattern: '^.{${least},}$' }]
verifier_requirements: {}
gate_behaviour: { max_attempts: 1 }
`

const WORK = `
variables: [{ name: text, type: string }]
nodes:
  - id: write
    typeId: core.agent
    agent: { agentId: local.desk.clerk }
    config: { resultVariable: text }
    inputs: { task: { type: static, value: write } }
  - id: end
    typeId: core.end
    inputs: { text: { type: variable, variableName: text } }
edges:
  - { sourceNodeId: write, targetNodeId: end }
`

const tool = (says: string) => `export default {
  description: 'Says something.', inputSchema: { type: 'object' }, repeat: 'safe', run: () => ${JSON.stringify(says)},
}`

const silent = { info: () => undefined, warn: () => undefined, error: () => undefined }

beforeEach(async () => {
  folder = fs.mkdtempSync(path.join(os.tmpdir(), 'assay-reload-'))
  project = path.join(folder, 'project')
  write('workflows/asks.yaml', says('one'))
  write('workflows/work.yaml', WORK)
  write('agents/clerk.md', agent('You write.'))
  write('intents/plain.yaml', 'type: operational\ntitle: Plain\nstatement: It is plain.\nsuccess_criteria: []\n')
  write('scripted.yaml', '- { agent: local.desk.clerk, reply: { text: written } }\n')
  const settings = { project, data: path.join(folder, 'data'), database: 'memory:', port: 0 }
  host = await createHost(loadConfig(settings, {}), { log: silent })
  await host.start()
  client = new AssayClient({ url: host.url, key: await readLocalKey(path.join(folder, 'data')) })
})

afterEach(async () => {
  await host.stop()
  fs.rmSync(folder, { recursive: true })
})

/** How a run ends; one that asks is told to go on. */
async function ended(runId: string) {
  for await (const event of client.followEvents(runId)) {
    if (event.type === 'interrupt.requested') await client.resolveInterrupt(runId, 'ask', { action: 'accept' })
    if (event.type === 'run.completed') return (event.payload as { outputs?: unknown }).outputs
    if (event.type === 'run.failed') return (event.payload as { error: { code: string } }).error.code
  }
  throw new Error(`run ${runId} has no end`)
}

const outcomeOf = async (workflowId: string) => ended((await client.createRun({ workflowId })).runId)

test('a changed workflow is what new runs are made of; one that runs keeps what it was started with', async () => {
  const { runId } = await client.createRun({ workflowId: 'asks' })
  write('workflows/asks.yaml', says('two'))
  expect(await host.reload()).toEqual({
    takenUp: [{ file: 'workflows/asks.yaml', became: 'changed' }],
    left: [],
    problems: [],
  })
  expect(await outcomeOf('asks')).toEqual({ said: 'two' })
  expect(await ended(runId)).toEqual({ said: 'one' })
})

test('agents, gates and tools are taken up, too, and so are new files that name each other', async () => {
  expect(await outcomeOf('work')).toEqual({ text: 'written' })
  write('gates/long.yaml', gate(10))
  write('tools/bell.mjs', tool('ding'))
  write('agents/clerk.md', agent('You ring.', '["local:bell"]'))
  write('workflows/parent.yaml', 'nodes:\n  - { id: sub, typeId: core.subWorkflow, config: { workflowId: child } }\n')
  write('workflows/child.yaml', 'nodes:\n  - { id: a, typeId: core.noop }\n')
  const first = await host.reload()
  expect(first.problems).toEqual([])
  expect(first.takenUp.map(({ file, became }) => `${file} ${became}`)).toEqual([
    'agents/clerk.md changed',
    'gates/long.yaml added',
    'tools/bell.mjs added',
    'workflows/child.yaml added',
    'workflows/parent.yaml added',
  ])
  expect(await outcomeOf('work')).toBe('verification_failed')
  expect((await client.getTool('local:bell')).toolId).toBe('local:bell')
  expect(await outcomeOf('parent')).toMatchObject({ childStatus: 'completed' })
  write('gates/long.yaml', gate(3))
  expect((await host.reload()).problems).toEqual([])
  expect(await outcomeOf('work')).toEqual({ text: 'written' })
})

test('a changed tool does the new thing', async () => {
  write('agents/clerk.md', agent('You ring.', '["local:bell"]'))
  write(
    'scripted.yaml',
    '- { when: { round: 1 }, reply: { tools: [{ tool: "local:bell" }] } }\n- { when: { contains: dong }, reply: { text: it says dong } }\n- { reply: { text: it says ding } }\n',
  )
  write('tools/bell.mjs', tool('ding'))
  await host.reload()
  expect(await outcomeOf('work')).toEqual({ text: 'it says ding' })
  write('tools/bell.mjs', tool('dong'))
  expect((await host.reload()).takenUp).toHaveLength(1)
  expect(await outcomeOf('work')).toEqual({ text: 'it says dong' })
})

test('a mistake anywhere leaves all as it was, and once it is mended everything is taken up', async () => {
  write('workflows/asks.yaml', says('two'))
  write('workflows/fresh.yaml', 'nodes:\n  - { id: a, typeId: core.noop }\n')
  write('agents/clerk.md', agent('You ring.', '["local:bell"]'))
  write('gates/long.yaml', gate(10))
  write('tools/bell.mjs', 'export default {')
  const refused = await host.reload()
  expect(refused).toMatchObject({ takenUp: [], left: [], problems: [expect.stringMatching(/^tools\/bell\.mjs: /)] })
  expect(await outcomeOf('asks')).toEqual({ said: 'one' })
  expect(await outcomeOf('work')).toEqual({ text: 'written' })
  await expect(client.getWorkflow('fresh')).rejects.toMatchObject({ code: 'not_found' })
  expect((await client.listStandards('gates')).gates).toEqual([])
  expect((await client.getAgent('local.desk.clerk')).toolAllowlist ?? []).toEqual([])
  write('tools/bell.mjs', tool('ding'))
  expect((await host.reload()).takenUp).toHaveLength(5)
  expect(await outcomeOf('asks')).toEqual({ said: 'two' })
  expect(await outcomeOf('work')).toBe('verification_failed')
})

test('what makes no difference is said, with the reason; what did not change is not', async () => {
  write('assay.config.yaml', 'budget: { maxTokens: 1000 }\n')
  fs.rmSync(path.join(project, 'workflows/asks.yaml'))
  write('notes.txt', 'nothing of ours')
  expect(await host.reload()).toEqual({
    takenUp: [],
    left: [
      { file: 'assay.config.yaml', became: 'added', why: 'the configuration is read when a host starts' },
      { file: 'workflows/asks.yaml', became: 'removed', why: 'what it registered can still be started' },
    ],
    problems: [],
  })
  expect(await host.reload()).toEqual({ takenUp: [], left: [], problems: [] })
})

test('one at a time: what is asked for at once is done once', async () => {
  write('workflows/asks.yaml', says('two'))
  const all = await Promise.all([host.reload(), host.reload(), host.reload()])
  expect(all.map(({ takenUp }) => takenUp.length)).toEqual([1, 0, 0])
})
