import { afterAll, beforeAll, expect, test } from 'vitest'
import { main } from '../../src/cli/main.js'
import { agentsDouble } from '../../src/testing/agents.js'
import { says, score, writing } from '../../src/testing/gated-families.js'
import { boundGate } from '../../src/testing/gates.js'
import { standardsDouble } from '../../src/testing/verification.js'
import { sketch } from '../../src/testing/workflow.js'
import { until } from '../support/host-process.js'
import { directoryOf } from './agent-directory.js'
import { type KeyName, secretOf, startHttp, type TestHost } from './harness.js'
import { listen } from './sockets.js'

const gates = {
  gated: [
    boundGate({
      gate_id: 'gate-of-gated',
      position: { workflow_id: 'gated', phase_id: 'a', placement: 'phase_exit' },
      behaviour: { max_attempts: 1, on_fail: 'escalate', retries: 0 },
    }),
  ],
}
const SERVERS = [
  { name: 'files', transport: 'stdio' as const },
  { name: 'lost', transport: 'stdio' as const, problem: 'the tool server "lost" cannot be used: it has ended' },
]

let host: TestHost
let url: string
beforeAll(async () => {
  const agents = agentsDouble({
    agents: { 'local.test.agent': {}, 'assay.verifier': {} },
    think: ({ role }) => (role === 'verifier' ? score(2) : says('a result', { confidence: 0.9 })),
  })
  const directory = { ...directoryOf([]), toolServers: async () => SERVERS }
  host = await startHttp({ agents, gates: standardsDouble(gates), deps: { agents: directory } })
  const above = { id: 'above', nodes: { sub: { type: 'core.subWorkflow', config: { workflowId: 'gated' } } } }
  for (const payload of [sketch(writing('gated')), sketch(above)])
    expect((await host.call('alice', { method: 'POST', url: '/v1/workflows', payload })).status).toBe(201)
  url = `http://127.0.0.1:${await listen(host.app)}`
})
afterAll(() => host.close())

async function assay(key: KeyName, ...args: string[]) {
  const [out, notes]: [string[], string[]] = [[], []]
  const terminal = {
    out: (line: string) => void out.push(line),
    note: (line: string) => void notes.push(line),
    draw: () => undefined,
    isLive: false,
    columns: 120,
    readStdin: async () => '',
  }
  const code = await main(['--url', url, '--key', secretOf(key), ...args], terminal)
  return { code, out: out.join('\n'), notes: notes.join('\n') }
}

test('what was judged in a child run is shown with its parent', async () => {
  const payload = { workflowId: 'above', inputs: {} }
  const { runId } = (await host.call('alice', { method: 'POST', url: '/v1/runs', payload })).json
  await until('a person to be asked', async () => {
    const { status } = (await host.call('alice', { url: `/v1/runs/${runId}` })).json
    return status === 'waiting-approval'
  })
  const child = (await host.call('alice', { url: `/v1/runs/${runId}` })).json.childRuns[0].runId
  const { code, out, notes } = await assay('alice', 'runs', 'findings', runId)
  expect(code).toBe(0)
  expect(notes).toContain('no gate has judged anything in this run itself')
  expect(out).toContain(`in ${child}, which this run has started:`)
  expect(out).toMatch(/^1 +Gate +1 +a +fail/m)
  expect(notes).toContain(`all of it: assay runs findings ${child}`)
})

test('doctor says how the MCP servers of the running server are, to a key that may know', async () => {
  const { out } = await assay('operator', 'doctor')
  expect(out).toMatch(/ok.* mcp:files +can be used/)
  expect(out).toMatch(/fail.* mcp:lost +the tool server "lost" cannot be used: it has ended/)
  expect(out).toContain('see what it wrote last: assay tools servers')
  expect((await assay('alice', 'doctor')).out).not.toContain('mcp:')
  const { out: servers } = await assay('operator', 'tools', 'servers')
  expect(servers).toMatch(/^files \(stdio\): can be used\nlost \(stdio\): the tool server "lost" cannot be used/)
})
