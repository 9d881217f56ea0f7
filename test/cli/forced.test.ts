import { stripVTControlCharacters } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { main } from '../../src/cli/main.js'
import { agentsDouble } from '../../src/testing/agents.js'
import { says, score, writing } from '../../src/testing/gated-families.js'
import { boundGate } from '../../src/testing/gates.js'
import { standardsDouble } from '../../src/testing/verification.js'
import { sketch } from '../../src/testing/workflow.js'
import { secretOf, startHttp, type TestHost } from '../http/harness.js'
import { listen } from '../http/sockets.js'

/** A result that its gate lets through without a pass, as the command line tells it, over the real engine. */

const gate = boundGate({
  gate_id: 'quality',
  position: { workflow_id: 'lenient', phase_id: 'a', placement: 'phase_exit' },
  behaviour: { max_attempts: 1, on_fail: 'conditional_pass', retries: 0 },
})

let host: TestHost
let url: string
beforeAll(async () => {
  const agents = agentsDouble({
    agents: { 'local.test.agent': {}, 'assay.verifier': {} },
    think: ({ role }) => (role === 'verifier' ? score(2) : says('rain', { confidence: 0.9 })),
  })
  host = await startHttp({ agents, gates: standardsDouble({ lenient: [gate] }) })
  const payload = sketch(writing('lenient'))
  expect((await host.call('alice', { method: 'POST', url: '/v1/workflows', payload })).status).toBe(201)
  url = `http://127.0.0.1:${await listen(host.app)}`
})
afterAll(() => host.close())

async function assay(...args: string[]) {
  const [out, notes]: [string[], string[]] = [[], []]
  const code = await main(['--url', url, '--key', secretOf('alice'), ...args], {
    out: line => void out.push(line),
    note: line => void notes.push(line),
    draw: () => undefined,
    isLive: false,
    columns: 120,
    readStdin: async () => '',
  })
  const plain = (lines: string[]) => stripVTControlCharacters(lines.join('\n'))
  return { code, out: plain(out), notes: plain(notes) }
}

test('R-VERIFY-19: a forced result ends with 1, is told on stderr, and nothing on stdout could be taken for an answer', async () => {
  const { code, out, notes } = await assay('run', 'lenient', '--wait')
  expect([code, out]).toEqual([1, ''])
  expect(notes).toMatch(/^forced: .*quality.*; not verified$/m)
})

test('R-VERIFY-19: with --allow-forced it is printed and ends with 0, and stderr says what it is all the same', async () => {
  const { code, out, notes } = await assay('run', 'lenient', '--wait', '--allow-forced')
  expect([code, JSON.parse(out)]).toEqual([0, expect.any(Object)])
  expect(notes).toMatch(/^forced: .*quality.*; not verified$/m)
})

test('R-DWS-22 R-VERIFY-2: and everybody else calls it forced, not verified', async () => {
  const { json } = await host.call('alice', { method: 'POST', url: '/v1/runs', payload: { workflowId: 'lenient' } })
  const snapshot = () => host.call('alice', { url: `/v1/runs/${json.runId}` })
  await expect.poll(async () => (await snapshot()).json.status).toBe('completed')
  expect((await snapshot()).json.convergence).toMatchObject({ goalSatisfied: false, against: [{ what: 'forced' }] })
  const { verifications } = (await host.call('alice', { url: `/v1/runs/${json.runId}/verifications` })).json
  expect(verifications).toMatchObject([{ verdict: 'fail', verified: false, label: 'forced' }])
})
