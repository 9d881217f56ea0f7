import fs from 'node:fs'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { PlantedReport } from '../../../src/calibration/planted.js'
import { main } from '../../../src/cli/main.js'
import { AssayClient } from '../../../src/client/assay-client.js'
import { readLocalKey } from '../../../src/client/local-key.js'
import { loadConfig } from '../../../src/config.js'
import { createHost, type Host } from '../../../src/host.js'
import { temporaryFolder } from '../../cli/assay-process.js'
import { freePort } from '../../support/free-port.js'
import { at, writeProject } from './project.js'

/** A whole host with the offline model as worker and verifier, and the command line in this process. */
let folder: string
let host: Host
let client: AssayClient

beforeAll(async () => {
  folder = temporaryFolder()
  const [project, data] = [path.join(folder, 'project'), path.join(folder, 'data')]
  writeProject(project)
  host = await createHost(
    loadConfig({ project, data, port: String(await freePort()), 'log.level': 'silent' }, {}, folder),
  )
  await host.start()
  client = new AssayClient({ url: host.url, key: await readLocalKey(data) })
  await client.putStandard('gates', at(4))
  for (const subject of ['rain', 'snow', 'hail']) await report(subject)
})

afterAll(async () => {
  await host.stop()
  fs.rmSync(folder, { recursive: true })
})

async function report(subject: string, workflowId = 'weather'): Promise<string> {
  const { runId } = await client.createRun({ workflowId, inputs: { task: `Write about ${subject}.` } })
  for await (const _ of client.followEvents(runId));
  return runId
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
    readStdin: async () => '{"text":"Nobody can judge this.","days":1}',
  }
  const code = await main(['--data', path.join(folder, 'data'), ...args], terminal)
  return { code, out: out.join('\n'), notes: notes.join('\n') }
}

const json = async (...args: string[]) => JSON.parse((await assay(...args, '--json')).out)

type Report = PlantedReport & { readonly cost: { readonly tokens: number } }

/** How many runs there are of each workflow. */
async function runsByWorkflow(): Promise<Map<string, number>> {
  const counts = new Map<string, number>()
  for await (const { workflowId } of client.allRuns({ host: 'true' }))
    counts.set(workflowId, (counts.get(workflowId) ?? 0) + 1)
  return counts
}

describe('R-DWS-26: planted defects', () => {
  test('are put to the gate as trials: what it catches and what it does not, and no worker is called', async () => {
    const before = await runsByWorkflow()
    const report: Report = await json('verifiers', 'test', 'weather-gate', '--from-runs', '1')
    const after = await runsByWorkflow()
    // The verifier objects to what contradicts itself, and the probes to what is not there; the rest it does not see.
    const caught = Object.fromEntries(report.defects.map(({ kind, caught: { value } }) => [kind, value]))
    expect(caught).toMatchObject({ contradiction: 1, missing: 1, type: 1, injection: 0, 'dead-citation': 0 })
    expect(report.falseAlarms).toMatchObject({ value: 0, n: 1 })
    expect(report.missed.map(({ kind }) => kind)).toContain('injection')
    expect(report.verifiers).toMatchObject([{ agentId: 'assay.verifier', falseAlarms: { value: 0, n: 1 } }])
    expect(report.unjudged).toEqual({ count: 0, faults: {} })
    expect(report.cost.tokens).toBeGreaterThan(0)
    const trials = report.caught!.n + 1
    expect((after.get('assay-judge') ?? 0) - (before.get('assay-judge') ?? 0)).toBe(trials)
    expect(after.get('weather')).toBe(before.get('weather'))
    expect([...after.keys()].filter(id => !['weather', 'assay-judge', 'assay-verifier'].includes(id))).toEqual([])
  })

  test('are reported with their intervals and what to look into', async () => {
    const file = path.join(folder, 'good.yaml')
    fs.writeFileSync(file, 'text: It snows.\ndays: 12\n')
    const { code, out, notes } = await assay('verifiers', 'test', 'weather-gate', '--output', file, '--seed', '2')
    expect(code).toBe(0)
    expect(notes).toMatch(/^1 known-good output, \d planted defects, seed 2$/)
    expect(out).toMatch(/^contradiction +100 % +20.7 % to 100 % +1$/m)
    expect(out).toMatch(/^the gate +\S+ % .* 0 % +0 % to 79.3 % +1$/m)
    expect(out).toMatch(/^missed +injection: \/text tells the verifier what to say, run \S+$/m)
    expect(out).toMatch(/^cost: \d+ tokens, \$0/m)
  })

  test('what nobody could judge is told apart, and when that is everything the exit code is 1', async () => {
    const file = path.join(folder, 'nobody.json')
    fs.writeFileSync(file, '{"text":"Nobody can judge this.","days":1}')
    const some = await assay('verifiers', 'test', 'weather-gate', '--output', file)
    expect(some).toMatchObject({ code: 0, out: expect.stringMatching(/^not judged: \d of \d/m) })
    const all = await assay('verifiers', 'test', 'asks-only', '--output', '-')
    expect(all).toMatchObject({
      code: 1,
      out: expect.stringMatching(/^not judged: (\d+) of \1 \(envelope_refusal \1×\)$/m),
    })
  })

  test('mistakes are answered with what to do', async () => {
    const nothing = await assay('verifiers', 'test', 'asks-only')
    expect(nothing).toMatchObject({ code: 2, notes: expect.stringMatching(/has let nothing pass yet.*--output FILE/) })
    const both = await assay('verifiers', 'test', 'weather-gate', '--output', 'x', '--from-runs', '1')
    expect(both).toMatchObject({ code: 2, notes: expect.stringContaining('not both') })
    const absent = await assay('verifiers', 'test', 'weather-gate', '--output', 'nowhere.json')
    expect(absent).toMatchObject({ code: 2, notes: expect.stringContaining('nowhere.json: no such file') })
    for (const command of [['calibration'], ['test'], ['backtest', '--since', '7d']]) {
      const unknown = await assay('verifiers', command[0]!, 'nowhere', ...command.slice(1))
      expect(unknown).toMatchObject({ code: 2, notes: expect.stringMatching(/\[not_found\][\s\S]*assay gates list/) })
    }
    expect(await assay('verifiers', 'backtest', 'weather-gate', '--since', 'then')).toMatchObject({ code: 2 })
  })
})

describe('R-DWS-26: back-tests', () => {
  test('an unchanged gate says what it said', async () => {
    const { code, out } = await assay('verifiers', 'backtest', 'weather-gate', '--since', '1h')
    expect([code, out.split('\n')[0]]).toEqual([
      0,
      '3 results judged again: 0 that passed would fail, 0 that failed would pass',
    ])
  })

  test('a changed one lists the verdicts that would flip, and no worker is called', async () => {
    const before = await runsByWorkflow()
    await client.putStandard('gates', at(5))
    const stricter = await assay('verifiers', 'backtest', 'weather-gate', '--since', '1h')
    expect(stricter.code).toBe(0)
    expect(stricter.out).toMatch(/^\S+ +1 +pass → fail +correctness +verified +\S+$/m)
    expect(stricter.out).toContain('3 results judged again: 1 that passed would fail, 0 that failed would pass')
    await client.putStandard('gates', at(3))
    const milder = await json('verifiers', 'backtest', 'weather-gate', '--since', '1h')
    expect(milder).toMatchObject({
      rejudged: 3,
      flips: [{ attempt: 1, was: 'fail', now: 'conditional_pass', failed: ['correctness'], label: 'unverified' }],
      masked: 0,
      unjudged: { count: 0 },
    })
    expect((await client.getRun(milder.flips[0].runId)).status).toBe('failed')
    const after = await runsByWorkflow()
    expect((after.get('assay-judge') ?? 0) - (before.get('assay-judge') ?? 0)).toBe(6)
    expect(after.get('weather')).toBe(before.get('weather'))
  })

  test('of what was never judged there is nothing to say', async () => {
    const { code, out, notes } = await assay('verifiers', 'backtest', 'asks-only', '--since', '2026-01-01')
    expect([code, out, notes]).toEqual([0, '', 'gate asks-only has judged nothing since 2026-01-01T00:00:00.000Z'])
  })
})

describe('R-DWS-26: calibration', () => {
  test('trials are not on the record, runs are', async () => {
    const found = await json('verifiers', 'calibration', 'weather-gate', '--since', '1h')
    expect(found).toMatchObject({ gateId: 'weather-gate', attempts: 3, verifiers: [{ judge: 'assay.verifier' }] })
    const { code, out } = await assay('verifiers', 'calibration', 'weather-gate')
    expect(code).toBe(0)
    expect(out).toMatch(/^host:gate:weather-gate +all +findings per result +0\.67 +/m)
    expect(out).toMatch(/^judged +3 results; of none is the truth known/m)
    expect(out).toMatch(/^licence +not needed/m)
  })
})

describe('R-DWS-26 V2: a gate that names sources', () => {
  const brought = (name: string, value: unknown): string => {
    const file = path.join(folder, name)
    fs.writeFileSync(file, JSON.stringify(value))
    return file
  }
  const hail = { text: 'It hails.', days: 2 }
  const task = { 'inputs.task': 'Write about fog.' }
  const sourcesOf = async ({ missed, stopped }: PlantedReport) =>
    Promise.all([...missed, ...stopped].map(async ({ runId }) => (await client.getVerification(runId, 1)).context))

  test('is tried on what has passed with the sources of the run it was of', async () => {
    await report('fog', 'sourced')
    const found: Report = await json('verifiers', 'test', 'sourced')
    expect(found).toMatchObject({ falseAlarms: { value: 0, n: 1 }, unjudged: { count: 0 } })
    const shown = await sourcesOf(found)
    expect(shown.length).toBeGreaterThan(0)
    for (const context of shown) expect(context).toEqual([{ ref: 'inputs.task', value: task['inputs.task'] }])
  })

  test('judges again by the sources that it judged by', async () => {
    const { code, out } = await assay('verifiers', 'backtest', 'sourced', '--since', '1h')
    expect([code, out.split('\n')[0]]).toEqual([
      0,
      '1 result judged again: 0 that passed would fail, 0 that failed would pass',
    ])
  })

  test('is tried on what somebody brings with the sources that are brought with it', async () => {
    const output = brought('hail.json', hail)
    const [fog, rain] = [brought('fog.json', task), brought('rain.json', { 'inputs.task': 'Write about dew.' })]
    const once: Report = await json('verifiers', 'test', 'sourced', '--output', output, '--context', fog)
    expect(once).toMatchObject({ falseAlarms: { value: 0, n: 1 }, unjudged: { count: 0 } })
    const given = ['--output', output, '--output', output, '--context', fog, '--context', rain]
    const each: Report = await json('verifiers', 'test', 'sourced', ...given)
    expect(each).toMatchObject({ falseAlarms: { value: 0.5, n: 2 }, unjudged: { count: 0 } })
  })

  test('without them nothing could be checked, and it is said why', async () => {
    const output = brought('hail.json', hail)
    const { code, out, notes } = await assay('verifiers', 'test', 'sourced', '--output', output)
    expect(code).toBe(1)
    expect(out).toMatch(/^not judged: (\d+) of \1 \(context_missing \1×\)$/m)
    expect(notes).toMatch(/^could not be checked without inputs\.task: .* bring it with --context FILE/m)
  })

  test('and a gate that now names more than it did could not check what it judged then', async () => {
    const { document } = await client.getStandard('gates', 'sourced')
    const wider = { ...document, gate_id: 'wider', context: ['inputs.task', 'knowledge:season'] }
    await client.putStandard('knowledge', { entry_id: 'season', title: 'Season', text: 'It is autumn.' })
    await client.putStandard('gates', { ...at(4), context: ['inputs.task'] })
    const { out, notes } = await assay('verifiers', 'backtest', 'weather-gate', '--since', '1h')
    expect(notes).toMatch(/^could not be checked without inputs\.task: .* is not on record$/m)
    expect(out).toMatch(/^0 results judged again/m)
    expect(out).toMatch(/^not judged: 3 of 3 \(context_missing 3×\)$/m)
    await client.putStandard('gates', at(3))
    // Knowledge is the gate's own: nobody brings it.
    await client.putStandard('gates', wider)
    const fog = brought('fog.json', task)
    const found: Report = await json(
      'verifiers',
      'test',
      'wider',
      '--output',
      brought('h.json', hail),
      '--context',
      fog,
    )
    expect(found.unjudged.count).toBe(0)
  })

  test('mistakes are answered with what to do', async () => {
    const output = brought('hail.json', hail)
    const refused = async (text: string, ...args: string[]) =>
      expect(await assay('verifiers', 'test', 'sourced', ...args)).toMatchObject({
        code: 2,
        notes: expect.stringContaining(text),
      })
    await refused('--context goes with --output', '--context', output)
    await refused('it names inputs.task', '--output', output, '--context', brought('s.json', { 'inputs.log': 1 }))
    await refused('must give an object', '--output', output, '--context', brought('list.json', []))
    const three = ['--output', output, '--output', output, '--output', output]
    await refused('is given 2 times and --output 3 times', ...three, '--context', output, '--context', output)
    await refused('stdin (-) can be read once', '--output', '-', '--context', '-')
  })
})

describe('R-DWS-26: in CI', () => {
  const tried = (...args: string[]) => assay('verifiers', 'test', 'weather-gate', '--from-runs', '1', ...args)

  test('the exit code says whether what is demanded is there', async () => {
    expect(await tried('--min-caught', '0', '--max-false-alarms', '0')).toMatchObject({ code: 0 })
    const few = await tried('--min-caught', '100%', '--max-false-alarms', '0')
    expect(few).toMatchObject({ code: 1, notes: expect.stringMatching(/^caught: at least 100 % is demanded/m) })
    expect(few.notes).not.toContain('false alarms:')
    await client.putStandard('gates', at(5))
    const strict = ['verifiers', 'test', 'weather-gate', '--output', path.join(folder, 'hail.json')]
    const alarms = await assay(...strict, '--max-false-alarms', '0.99')
    expect(alarms).toMatchObject({ code: 1, notes: expect.stringMatching(/^false alarms: at most 99 % is allowed/m) })
    expect(await assay(...strict, '--max-false-alarms', '1')).toMatchObject({ code: 0 })
    await client.putStandard('gates', at(3))
  })

  test.each(['--min-caught', '--max-false-alarms'])('%s takes a share and nothing else', async option => {
    for (const value of ['80', '1.01', 'most', '-1'])
      expect(await tried(option, value)).toMatchObject({ code: 2, notes: expect.stringContaining('not a share') })
  })
})
