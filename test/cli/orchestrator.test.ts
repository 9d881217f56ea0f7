import fs from 'node:fs'
import path from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Server, startServer, temporaryFolder } from './assay-process.js'

let folder: string
let server: Server

beforeAll(async () => {
  folder = temporaryFolder()
  server = await startServer(path.join(folder, 'data'))
  for (const [name, text] of Object.entries(WORKFLOWS)) {
    const file = path.join(folder, `${name}.yaml`)
    fs.writeFileSync(file, text)
    expect(await server.assay('workflows', 'put', file)).toMatchObject({ code: 0 })
  }
})

afterAll(async () => {
  await server.stop()
  fs.rmSync(folder, { recursive: true })
})

const WORKFLOWS = {
  nap: 'nodes: [{ id: wait, typeId: core.delay, config: { delayMs: 600000 } }]\n',
  unsure: `
nodes:
  - id: lead
    typeId: core.orchestrator.supervisor
    config:
      rules:
        - { when: iteration == 1, decide: { kind: next-worker, nextWorkerIds: [nap, write-draft], confidence: 0.2 } }
        - decide: { kind: terminate }
  - { id: hand, typeId: core.dispatch, config: { fanOutPolicy: parallel } }
edges: [{ sourceNodeId: lead, targetNodeId: hand }]
`,
}

test('run --follow tells each decision and each step of a hand-off in a line', async () => {
  const { code, stderr } = await server.assay('run', 'orchestrator', '--follow')
  expect(code).toBe(0)
  const told = stderr.split('\n').flatMap(line => line.split(/ (?:decide|hand-over) {2}/).slice(1))
  expect(told).toEqual(
    expect.arrayContaining([
      'turn 1: next-worker write-draft',
      'write-draft began',
      expect.stringMatching(/^write-draft started as run \S+$/),
      'write-draft completed',
      'write-draft harvested draft',
      'turn 2: next-worker review-draft',
      'turn 3: terminate goal-reached',
    ]),
  )
})

test('runs get tells what a run waits for and how to answer, then who works, and what bounds it', async () => {
  const { runId } = (await server.json('run', 'unsure', '--configurable', 'maxLoopIterations=7')).value
  const waiting = (await server.assay('runs', 'get', runId)).stdout
  expect(waiting).toMatch(/^waits for +approval: .*confidence 0.2; 0.5 is asked for/m)
  expect(waiting).toMatch(new RegExp(`^answer +assay interrupts resolve ${runId} lead --accept$`, 'm'))
  expect(waiting).toMatch(/^turn +1 of 7, suspended$/m)
  expect(waiting).toMatch(/^decision +next-worker nap, write-draft \(confidence 0.2\)$/m)
  expect(waiting).toMatch(/^bounds +100000 node executions, 7 turns, 31 d$/m)
  await server.assay('interrupts', 'resolve', runId, '--accept')
  await expect
    .poll(async () => (await server.assay('runs', 'get', runId)).stdout, { timeout: 30_000 })
    .toMatch(/^hand +nap +running +\S+\nhand +write-draft +running +\S+$/m)
  expect((await server.assay('runs', 'cancel', runId)).code).toBe(0)
})
