import { cpSync, rmSync } from 'node:fs'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { readLocalKey } from '../../../src/client/local-key.js'
import { repository, type Server, startServer, temporaryFolder } from '../../cli/assay-process.js'
import { storedRuns } from '../../support/stored-runs.js'

/** `examples/verification` as a user runs it: the real program, offline, from the first command to the last. */

const RIGHT =
  'Twice in a lunar day of 24 hours and 50 minutes [tide-tables], because the moon, and less so the sun, pulls at the sea [moon-notes].'
/** What the worker said before, in words that nothing else says. */
const WRONG = ['As every sailor knows', 'Once a day, when']
const INEXACT = ['the second is not known', 'At noon, to the second']

const folder = temporaryFolder()
const project = path.join(folder, 'project')
const data = path.join(folder, 'data')
let server: Server

beforeAll(async () => {
  cpSync(path.join(repository, 'examples/verification'), project, { recursive: true })
  server = await startServer(data, ['--project', project])
})

afterAll(async () => {
  await server?.stop()
  rmSync(folder, { recursive: true })
})

type Told = { readonly type: string; readonly payload: { readonly [name: string]: unknown } }

const eventsOf = async (runId: string): Promise<readonly Told[]> =>
  (await server.json('runs', 'events', runId)).value.events

const saying = (events: readonly Told[], words: readonly string[]): readonly string[] =>
  events.filter(event => words.some(word => JSON.stringify(event).includes(word))).map(({ type }) => type)

describe('the story: fluent and wrong, wrong, right', () => {
  let runId: string

  it('R-VERIFY-10 R-VERIFY-14 R-DWS-20: the answer that is printed is the one that passed', async () => {
    const { code, value } = await server.json('run', 'answer', '--wait')
    runId = value.runId
    expect([code, value.status, value.outputs]).toEqual([0, 'completed', { answer: RIGHT }])
    expect(value.variables.answer).toEqual({ answer: RIGHT })
    expect(value.convergence.goalSatisfied).toBe(true)
  })

  it('R-VERIFY-2 R-VERIFY-11 R-SEC-1: what did not pass is nowhere in the log; what did is told when it has', async () => {
    const events = await eventsOf(runId)
    expect(saying(events, WRONG)).toEqual([])
    expect(saying(events, [RIGHT])).toEqual(['variable.changed', 'node.completed', 'node.completed', 'run.completed'])
    const verdicts = events.filter(({ type }) => type === 'agent.verified').map(({ payload }) => payload)
    expect(verdicts.map(({ agentId, verdict }) => [agentId, verdict])).toEqual([
      // No model was asked about a source that does not exist.
      ['host:gate:cited-answer', 'revise'],
      ['assay.verifier', 'revise'],
      ['assay.verifier', 'pass'],
    ])
    expect(events.filter(({ type }) => type === 'assay.verifier.began')).toHaveLength(2)
  })

  it('R-DWS-13: what was found is there to be read, attempt by attempt', async () => {
    const { code, stdout } = await server.assay('runs', 'findings', runId)
    expect(code).toBe(0)
    expect(stdout).toMatch(/^1 +A cited answer +1 +write +fail → revise +1 blocking +\$\S+ +\$0 +unverified$/m)
    expect(stdout).toMatch(/^2 +A cited answer +2 +write +fail → revise +1 blocking +\$\S+ +\$\S+ +unverified$/m)
    expect(stdout).toMatch(/^3 +A cited answer +3 +write +pass → pass +none +\$\S+ +\$\S+ +verified$/m)
    const [first, second] = await Promise.all(['1', '2'].map(n => server.assay('runs', 'findings', runId, n)))
    expect(first!.stdout).toContain('evidence coast-gazette: is cited and is not among the sources')
    expect(second!.stdout).toContain('✗ grounded 1 of at least 4 by verifiers')
  })

  it('R-DWS-28: what judging cost is told apart from what the work cost', async () => {
    const { stdout } = await server.assay('runs', 'get', runId)
    expect(stdout).toMatch(/^goal +satisfied$/m)
    expect(stdout).toMatch(/^verifying +\d+ tokens, \$0\.\d+ of it$/m)
    expect(stdout).toMatch(/^cited-answer +write +verified +3 +0 +\$\S+ +\$\S+$/m)
  })

  it('--follow tells it as it happens', async () => {
    const { code, stdout, stderr } = await server.assay('run', 'answer', '--follow')
    expect([code, JSON.parse(stdout)]).toEqual([0, { answer: RIGHT }])
    const told = ['attempt 1: 2 probes (1 failed)', 'attempt 2: the work again, with what was found', 'attempt 3: pass']
    const places = told.map(text => stderr.indexOf(text))
    expect(places).not.toContain(-1)
    expect(places).toEqual([...places].sort((a, b) => a - b))
  })
})

describe('its twin: a criterion that nobody can meet', () => {
  const GAVE_UP = 'gave up: 1 of 3 criteria not met (exact)\n'

  it('R-VERIFY-12 R-VERIFY-19: gives up, says so, ends with 1, and prints nothing that could be taken for an answer', async () => {
    for (const how of ['--wait', '--follow']) {
      const { code, stdout, stderr } = await server.assay('run', 'answer-exactly', how)
      expect([code, stdout]).toEqual([1, ''])
      expect(stderr).toContain(GAVE_UP)
      expect(stderr).toMatch(/^next: +assay runs findings \S+$/m)
    }
  })

  it('R-VERIFY-11: nothing that the worker brought is in the run: not in its variables, its outputs or its log', async () => {
    const { code, value } = await server.json('run', 'answer-exactly', '--wait')
    expect([code, value.status, value.outputs]).toEqual([1, 'completed', {}])
    expect(value.convergence).toMatchObject({ goalSatisfied: false, verdicts: [{ verdict: 'fail' }] })
    expect(value.variables).not.toHaveProperty('answer')
    expect(saying(await eventsOf(value.runId), INEXACT)).toEqual([])
    // They were there: whoever asks for what was judged is shown it.
    for (const [i, words] of INEXACT.entries()) {
      const { value: one } = await server.json('runs', 'findings', value.runId, String(i + 1))
      expect(one.output.result.answer).toContain(words)
    }
    const { stdout } = await server.assay('runs', 'get', value.runId)
    expect(stdout).toMatch(/^goal +not satisfied: 1 of 3 criteria not met \(exact\)$/m)
  })
})

describe('whatever happens to the host', () => {
  it('R-VERIFY-2 R-VERIFY-22: killed while a result is judged, it goes on where it was, and to the same end', async () => {
    const { runId, seen } = await killedWhileJudged()
    const { code, stdout } = await server.assay('runs', 'follow', runId)
    expect([code, JSON.parse(stdout)]).toEqual([0, { answer: RIGHT }])
    const events = await eventsOf(runId)
    expect(events.length).toBeGreaterThan(seen)
    expect(events.filter(({ type }) => type === 'dws.verification.verdict_rendered')).toHaveLength(3)
  })

  it('R-VERIFY-22: every run is told again the same, and every log is legal', async () => {
    const { value } = await server.json('runs', 'list', '--limit', '100')
    const ours = value.runs.filter(({ workflowId }: { workflowId: string }) => workflowId.startsWith('answer'))
    expect(ours.length).toBeGreaterThanOrEqual(5)
    for (const workflow of ['answer', 'answer-exactly']) {
      const { runId } = ours.find((run: { workflowId: string }) => run.workflowId === workflow)
      const { code, stdout, stderr } = await server.assay('runs', 'replay', runId, '--check')
      expect([code, stdout], stderr).toEqual([0, expect.stringContaining('replay is equal')])
    }
    const verified = await server.assay('verify', '--all')
    expect([verified.code, verified.stdout], verified.stdout).toEqual([0, expect.stringContaining('no findings')])
  })
})

/** Kills the server under a run that is being judged; where the run was faster than the kill, another is started. */
async function killedWhileJudged(): Promise<{ readonly runId: string; readonly seen: number }> {
  for (let tries = 0; tries < 10; tries += 1) {
    const { value } = await server.json('run', 'answer')
    const seen = await eventsUntil(value.runId, 'assay.verifier.began')
    await server.stop('SIGKILL')
    const stored = await storedRuns(`sqlite:${path.join(data, 'assay.db')}`)
    server = await startServer(data, ['--project', project])
    if (stored.find(({ runId }) => runId === value.runId)?.row?.status === 'running')
      return { runId: value.runId, seen }
  }
  throw new Error('ten runs have ended before they could be killed')
}

/** Reads a run's stream until an event of that type has come; returns how many have. */
async function eventsUntil(runId: string, type: string): Promise<number> {
  const stop = new AbortController()
  const { body } = await fetch(`${server.url}/v1/runs/${runId}/events?streamMode=debug`, {
    headers: { authorization: `Bearer ${await readLocalKey(data)}` },
    signal: stop.signal,
  })
  let text = ''
  for await (const chunk of body!.pipeThrough(new TextDecoderStream())) {
    text += chunk
    if (!text.includes(`event: ${type}`)) continue
    stop.abort()
    return text.split('event: ').length - 1
  }
  throw new Error(`the stream ended without ${type}:\n${text}`)
}
