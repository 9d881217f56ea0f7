import fs from 'node:fs'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { repository, type Server, startServer, temporaryFolder } from './assay-process.js'

/** `examples/release-goal` as a user runs it: the real program, offline. */
let folder: string
let server: Server

beforeAll(async () => {
  folder = temporaryFolder()
  fs.cpSync(path.join(repository, 'examples/release-goal'), folder, { recursive: true })
  server = await startServer(path.join(folder, 'data'), ['--project', folder], { ASSAY_WEBHOOKS_ALLOW_PRIVATE: 'true' })
})

afterAll(async () => {
  await server.stop()
  fs.rmSync(folder, { recursive: true })
})

const goalFile = (more: object): string => {
  const file = path.join(folder, `wanted-${Math.abs(JSON.stringify(more).length)}.json`)
  const wanted = {
    objective: 'Every item of the release checklist is done.',
    completion: { check: 'verifier', verifierRef: 'release-checklist' },
    bounds: { maxLoopIterations: 5 },
    assay: { run: { workflowId: 'work-on-release' } },
  }
  fs.writeFileSync(file, JSON.stringify({ ...wanted, ...more }))
  return file
}
const made = async (more: object = {}): Promise<string> => {
  const { value } = await server.json('goals', 'create', goalFile(more))
  return value.id
}
const stateOf = async (id: string) => (await server.json('goals', 'get', id)).value.goal
const ranTo = (id: string, iterations: number) =>
  expect
    .poll(async () => (await server.json('goals', 'get', id)).value.goal, { timeout: 60_000 })
    .toMatchObject({ progress: { iterations }, completion: { lastVerdict: expect.anything() } })

describe('goals at the command line', () => {
  test('the goal of a project is made once, and its gate needs three runs', async () => {
    const watched = await server.assay('goals', 'watch', '@last')
    expect([watched.code, watched.stdout]).toEqual([
      0,
      expect.stringMatching(/^iteration 3 of 5 {2}satisfied, 100% of criteria met {2}spent \$0\.00 {2}satisfied$/m),
    ])
    const { value } = await server.json('goals', 'list')
    expect(value.goals).toMatchObject([
      { state: 'satisfied', progress: { iterations: 3 }, owner: { tenant: 'default', principal: 'project' } },
    ])
    const runs = (await server.json('runs', 'list')).value.runs
    expect(runs.filter((run: { workflowId: string }) => run.workflowId === 'work-on-release').length).toBe(3)
    await server.stop()
    server = await startServer(path.join(folder, 'data'), ['--project', folder], {
      ASSAY_WEBHOOKS_ALLOW_PRIVATE: 'true',
    })
    expect((await server.json('goals', 'list')).value).toEqual(value)
  })

  test('one is made of a file, run by hand, watched, paused, resumed and abandoned', async () => {
    const id = await made()
    expect((await server.assay('goals', 'list', '--state', 'active')).stdout).toMatch(
      new RegExp(`^${id} +active +manual +0/5 +Every item`, 'm'),
    )
    expect((await server.assay('goals', 'run', '@last')).stdout).toBe(`${id} begins a run\n`)
    await ranTo(id, 1)
    const shown = (await server.assay('goals', 'get', id)).stdout
    expect(shown).toMatch(/^runs +1 reserved, 1 finished, 4 left$/m)
    expect(shown).toMatch(/^best +run \S+, unverified, 0% of criteria met$/m)
    expect((await server.assay('goals', 'pause', id)).stdout).toBe(`${id} paused\n`)
    const paused = await server.assay('goals', 'watch', id)
    expect([paused.code, paused.stdout]).toEqual([3, expect.stringMatching(/^iteration 1 of 5 .* paused$/m)])
    const refused = await server.assay('goals', 'run', id)
    expect([refused.code, refused.stderr]).toEqual([2, expect.stringContaining('[goal_not_active]')])
    expect((await server.assay('goals', 'resume', id)).stdout).toBe(`${id} resumed\n`)
    expect((await server.assay('goals', 'abandon', id)).stdout).toBe(`${id} abandoned\n`)
    const over = await server.json('goals', 'watch', id)
    expect([over.code, over.value.goal.state]).toEqual([1, 'abandoned'])
  })

  test('a bound that is reached ends with 1, what cannot be made with 2', async () => {
    const id = await made({ bounds: { maxLoopIterations: 1 } })
    await server.assay('goals', 'run', id)
    const over = await server.assay('goals', 'watch', id)
    expect([over.code, over.stdout]).toEqual([1, expect.stringMatching(/^iteration 1 of 1 .* bound-exceeded$/m)])
    expect((await stateOf(id)).state).toBe('bound-exceeded')
    const refused = await server.assay('goals', 'create', goalFile({ bounds: { maxIterations: 3 } }))
    expect([refused.code, refused.stderr]).toEqual([
      2,
      expect.stringMatching(/did you mean bounds\.maxLoopIterations\?.*\[goal_invalid\]/),
    ])
    const unknown = await server.assay('goals', 'get', 'goal-nobody')
    expect([unknown.code, unknown.stderr]).toEqual([2, expect.stringContaining('[not_found]')])
  })

  test('what is possible for one at worst is saved, and verified without any server; with one byte flipped it is not', async () => {
    const id = await made()
    const file = path.join(folder, 'certificate.json')
    expect((await server.assay('goals', 'certificate', id, '--out', file)).stdout).toBe(`${file}\n`)
    const asked = await server.assay('goals', 'certificate', id, '--verify', file)
    expect([asked.code, asked.stdout]).toEqual([0, expect.stringMatching(/possible {2}5 more runs.*verified$/ms)])
    const text = fs.readFileSync(file, 'utf8')
    fs.writeFileSync(
      file,
      text.replace(/"sig":"./, found => `${found.slice(0, -1)}${found.endsWith('A') ? 'B' : 'A'}`),
    )
    const flipped = await server.assay('goals', 'certificate', id, '--verify', file)
    expect([flipped.code, flipped.stdout]).toEqual([1, expect.stringContaining('not verified')])
    await server.assay('goals', 'abandon', id)
  })

  test('webhooks are told of goals', async () => {
    const { value } = await server.json('webhooks', 'add', 'http://127.0.0.1:9/hook', '--event', 'goal.*')
    const id = await made()
    await server.assay('goals', 'abandon', id)
    const deliveries = async () => (await server.json('webhooks', 'deliveries', value.webhookId)).value.deliveries
    await expect.poll(deliveries, { timeout: 60_000 }).toMatchObject([{ runId: id, eventType: 'goal.closed' }])
  })
})

describe('assay check and goals of a project', () => {
  const project = (goal: object): string => {
    const place = path.join(folder, 'checked')
    fs.rmSync(place, { recursive: true, force: true })
    fs.cpSync(path.join(repository, 'examples/release-goal'), place, { recursive: true })
    const wanted = {
      objective: 'x',
      completion: { check: 'verifier', verifierRef: 'release-checklist' },
      bounds: { maxLoopIterations: 1 },
    }
    fs.writeFileSync(path.join(place, 'goals/other.json'), JSON.stringify({ ...wanted, ...goal }))
    return place
  }

  test('what is right is counted, and nothing is said of schedules', async () => {
    const place = project({})
    const workflow = {
      nodes: [{ id: 'a', typeId: 'core.noop' }],
      triggers: [{ id: 't', type: 'schedule', config: { cron: '0 0 * * *' } }],
    }
    fs.writeFileSync(path.join(place, 'workflows/nightly.json'), JSON.stringify(workflow))
    const checked = await server.assay('check', place)
    expect([checked.code, checked.stdout, checked.stderr]).toEqual([0, expect.stringContaining('2 goals'), ''])
  })

  test.each<[string, object, RegExp]>([
    ['no bound', { bounds: {} }, /goals\/other\.json: bounds is empty/],
    ['a gate that is not there', { completion: { check: 'verifier', verifierRef: 'nobody' } }, /names no gate/],
    ['a workflow that is not there', { assay: { run: { workflowId: 'nothing' } } }, /assay\.run names "nothing"/],
    ['a mode that is not offered', { continuation: { mode: 'commitment' } }, /continuation\.mode is "commitment"/],
  ])('%s keeps a host from starting, and is told by the name of the file', async (_, goal, said) => {
    const checked = await server.assay('check', project(goal))
    expect([checked.code, checked.stderr]).toEqual([1, expect.stringMatching(said)])
  })
})
