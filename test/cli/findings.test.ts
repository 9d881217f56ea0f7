import { stripVTControlCharacters } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { main } from '../../src/cli/main.js'
import type { InspectedRun } from '../../src/engine/api.js'
import { finding, judged, record, rows } from '../../src/testing/verifications.js'
import { overriding } from '../http/fake-engine.js'
import { node, secretOf, startHttp, type TestHost, workflow } from '../http/harness.js'
import { listen } from '../http/sockets.js'

/** The command line in this process, over real runs to whose logs a gate's attempts are added as they are read. */

const NOTHING = { tokens: 0, costNano: 0, toolCalls: 0, retries: 0 }
const WORK = { execution: { ...NOTHING, tokens: 5000, costNano: 10_000_000 }, verification: NOTHING }
const ATTEMPTS = [
  ...judged(record({ findings: [finding(), finding({ finding_id: 'v1-2' })], work: WORK }), 'art-0', 'revise'),
  ...judged(record({ attempt: 2, findings: [finding({ description: 'No source.\u001b[2J' })] }), 'art-3', 'fail'),
  ...judged(
    record({ gateId: 'tone', gateName: 'Tone', workerId: 'critic', verdict: 'pass', findings: [] }),
    'art-6',
    'pass',
  ),
]

const GIVE_UP = {
  kind: 'terminate',
  successCriteria: [
    { key: 'complete', met: true },
    { key: 'grounded', met: false },
    { key: 'short', met: true },
  ],
}
const leader = (id: string, decide: object) =>
  workflow(
    id,
    [node('lead', 'core.orchestrator.supervisor', { config: { rules: [{ decide }] } }), node('hand', 'core.dispatch')],
    { edges: [{ id: 'e', sourceNodeId: 'lead', targetNodeId: 'hand' }] },
  )
const WORKFLOWS = [
  leader('gives-up', GIVE_UP),
  leader('reaches', { kind: 'terminate', successCriteria: [{ key: 'complete', met: true }] }),
  workflow('asks', [node('gate', 'core.approvalGate', { config: { title: 'Publish?' } })]),
]

let host: TestHost
let url: string
/** Runs that a gate has judged, and those whose result it did not let through. */
const gated = new Set<string>()
const failed = new Set<string>()

beforeAll(async () => {
  const wrap = overriding(engine => ({
    async readEvents(tenant, runId, from, limit) {
      const stored = await engine.readEvents(tenant, runId, 0)
      const log = stored && gated.has(runId) ? [...stored, ...rows(ATTEMPTS, stored.length)] : stored
      return log?.slice(from, limit === undefined ? undefined : from + limit)
    },
    async inspect(tenant, runId) {
      const view = await engine.inspect(tenant, runId)
      return view && failed.has(runId) ? unverified(view) : view
    },
  }))
  host = await startHttp({ wrap })
  for (const definition of WORKFLOWS)
    expect((await host.call('alice', { method: 'POST', url: '/v1/workflows', payload: definition })).status).toBe(201)
  url = `http://127.0.0.1:${await listen(host.app)}`
})
afterAll(() => host.close())

const MESSAGE = 'gate "quality" gave up after 2 attempts: 1 of 2 criteria not met'

function unverified(view: InspectedRun): InspectedRun {
  if (view.state.phase !== 'ended') throw new Error('it has not ended')
  const error = { code: 'verification_failed' as const, message: MESSAGE, retryable: false }
  return { ...view, status: 'failed', state: { ...view.state, outcome: { status: 'failed', error } } }
}

async function assay(...args: string[]) {
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
  const code = await main(['--url', url, '--key', secretOf('alice'), ...args], terminal)
  const plain = (lines: string[]) => stripVTControlCharacters(lines.join('\n'))
  return { code, out: plain(out), notes: plain(notes) }
}

const start = async (workflowId: string): Promise<string> =>
  (await host.call('alice', { method: 'POST', url: '/v1/runs', payload: { workflowId } })).json.runId

const startGated = async (workflowId: string): Promise<string> => {
  const runId = await start(workflowId)
  gated.add(runId)
  return runId
}

describe('runs findings', () => {
  test('R-DWS-13: every attempt, then what is wrong with the latest and what to do about it', async () => {
    const runId = await startGated('noop')
    const { code, out, notes } = await assay('runs', 'findings', runId)
    expect(code).toBe(0)
    expect(out).toMatch(/^1 +Draft quality +1 +hand\/writer +fail → revise +2 blocking +\$0.01 +\$0.0025 +unverified$/m)
    expect(out).toMatch(
      /^2 +Draft quality +2 +hand\/writer +fail → fail +1 blocking +\$0.0025 +unverified, best so far$/m,
    )
    expect(out).toMatch(/^3 +Tone +1 +hand\/critic +pass → pass +none +\$0.0025 +verified in part$/m)
    expect(out.split('\n').slice(5)).toEqual([
      'Draft quality attempt 2 at hand/writer: fail → fail (unverified)',
      '  ✗ grounded 2 of at least 4 by verifiers',
      '  ✓ complete by earlier',
      '  blocking v1-1 grounded: No source.\\x1b[2J',
      '    evidence /text:3: It rains every day. (line_reference)',
      '    do       Cite a source or drop the claim.',
      '    by       assay.verifier',
      '',
      'Tone attempt 1 at hand/critic: pass → pass (verified in part)',
      '  ✓ grounded 5 of at least 4 by verifiers',
      '  ✓ complete by earlier',
    ])
    expect(notes).toBe(`next:  assay runs findings ${runId} 2 --json`)
  })

  test('of a run that waits for a person: the commands that answer come first', async () => {
    const runId = await startGated('asks')
    const { notes } = await assay('runs', 'findings', runId)
    expect(notes.split('\n')[0]).toBe(`next:  assay interrupts resolve ${runId} gate --accept`)
  })

  test('R-VERIFY-8: one attempt, with who judged it and how', async () => {
    const runId = await startGated('noop')
    const { code, out } = await assay('runs', 'findings', runId, '1')
    expect(code).toBe(0)
    expect(out.split('\n').slice(-6)).toEqual([
      '  probe    has-text (complete) held',
      '  vote     assay.verifier fail, confidence 0.9, run judge-1',
      '  no vote  local.second: verifier_off_schema',
      '  quorum   0 of 1 vote for it, 1 needed, confidence 0.9',
      '  work     5000 tokens, $0.01',
      '  judging  1200 tokens, $0.0025',
    ])
  })

  test('--json is what the server says', async () => {
    const runId = await startGated('noop')
    expect(JSON.parse((await assay('runs', 'findings', runId, '--json')).out).verifications).toHaveLength(3)
    const one = JSON.parse((await assay('runs', 'findings', runId, '2', '--json')).out)
    expect(one).toMatchObject({ n: 2, best: true, output: { text: 'It rains every day.' } })
  })

  test('nothing was judged, or not so much, or there is no such run', async () => {
    const runId = await start('noop')
    const none = await assay('runs', 'findings', runId)
    expect(none).toEqual({ code: 0, out: '', notes: 'no gate has judged anything in this run itself' })
    const beyond = await assay('runs', 'findings', runId, '1')
    expect([beyond.code, beyond.notes]).toEqual([2, expect.stringContaining('no gate has judged anything in it')])
    expect((await assay('runs', 'findings', 'nowhere')).code).toBe(2)
    expect((await assay('runs', 'findings', runId, 'two')).code).toBe(2)
  })
})

describe('R-VERIFY-19: a run that gave up', () => {
  const GAVE_UP = 'gave up: 1 of 3 criteria not met (grounded)'

  test('ends with 1 and leaves stdout empty, however it is watched', async () => {
    for (const how of [['--wait'], ['--follow']]) {
      const { code, out, notes } = await assay('run', 'gives-up', ...how)
      expect([code, out]).toEqual([1, ''])
      expect(notes).toContain(GAVE_UP)
      expect(notes).toContain('outputs, unverified: {')
    }
    const runId = await start('gives-up')
    expect(await assay('runs', 'follow', runId)).toMatchObject({ code: 1, out: '' })
    expect((await assay('runs', 'events', '--follow', runId)).code).toBe(1)
  })

  test('--json says so where a script looks', async () => {
    const { code, out } = await assay('run', 'gives-up', '--wait', '--json')
    expect(code).toBe(1)
    expect(JSON.parse(out)).toMatchObject({ status: 'completed', convergence: { goalSatisfied: false }, outputs: {} })
  })

  test('runs get says what is missing', async () => {
    const { out } = await assay('runs', 'get', await start('gives-up'))
    expect(out).toMatch(/^goal +not satisfied: 1 of 3 criteria not met \(grounded\)$/m)
  })

  test('one that reached its goal prints its outputs and ends with 0', async () => {
    const { code, out } = await assay('run', 'reaches', '--wait')
    expect([code, JSON.parse(out)]).toEqual([0, expect.any(Object)])
  })
})

test('R-VERIFY-12: a run whose result no gate let through says why, and where to look', async () => {
  const runId = await startGated('noop')
  failed.add(runId)
  const { code, out, notes } = await assay('runs', 'follow', runId)
  expect([code, out]).toEqual([1, ''])
  expect(notes.split('\n').slice(-2)).toEqual([
    `run ${runId} failed: ${MESSAGE} [verification_failed]`,
    `next:  assay runs findings ${runId}`,
  ])
})
