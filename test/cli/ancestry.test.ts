import fs from 'node:fs'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Server, startServer, temporaryFolder } from './assay-process.js'

const PROJECT: { readonly [name: string]: string } = {
  'assay.config.yaml': 'hostId: acme.example/assay\n',
  'workflows/root.yaml': 'id: root\nnodes: [{ id: a, typeId: core.subWorkflow, config: { workflowId: middle } }]\n',
  'workflows/middle.yaml': 'id: middle\nnodes: [{ id: a, typeId: core.subWorkflow, config: { workflowId: leaf } }]\n',
  'workflows/leaf.yaml': 'id: leaf\nnodes: [{ id: a, typeId: core.noop }]\n',
}

const folder = temporaryFolder()
let server: Server
const runs: { [workflowId: string]: string } = {}

beforeAll(async () => {
  for (const [name, content] of Object.entries(PROJECT)) {
    const file = path.join(folder, 'project', name)
    fs.mkdirSync(path.dirname(file), { recursive: true })
    fs.writeFileSync(file, content)
  }
  server = await startServer(path.join(folder, 'data'), ['--project', path.join(folder, 'project')])
  await server.json('run', 'root', '--wait')
  for (const run of (await server.json('runs', 'list', '--children')).value.runs) runs[run.workflowId] = run.runId
})

afterAll(async () => {
  await server?.stop()
  fs.rmSync(folder, { recursive: true })
})

const hostId = 'acme.example/assay'
const parent = (name: string) => ({ runId: runs[name], hostId, cause: 'core.subWorkflow' })

describe('assay runs ancestry', () => {
  test('R-XHOST-9: prints who has started a run', async () => {
    const { code, stdout } = await server.assay('runs', 'ancestry', runs.leaf!)
    expect(code).toBe(0)
    expect(stdout).toMatch(/^PARENT\s+HOST\s+CAUSE\n/)
    expect(stdout).toContain(`${runs.middle}  ${hostId}  core.subWorkflow`)
    expect(stdout).not.toContain(runs.root)
    expect((await server.json('runs', 'ancestry', runs.leaf!)).value).toEqual({
      runId: runs.leaf,
      hostId,
      parent: parent('middle'),
    })
  })

  test('R-XHOST-9: says so where nobody has', async () => {
    const { code, stdout, stderr } = await server.assay('runs', 'ancestry', runs.root!)
    expect([code, stdout]).toEqual([0, ''])
    expect(stderr).toContain(`no run has started ${runs.root}`)
  })

  test('R-XHOST-11: --walk goes on hop by hop, up to the first', async () => {
    const { stdout } = await server.assay('runs', 'ancestry', runs.leaf!, '--walk')
    const [parents = '', causes = ''] = stdout.split('\n\n')
    const firstOf = (table: string) =>
      table
        .trimEnd()
        .split('\n')
        .slice(1)
        .map(line => line.split(/\s+/)[0])
    expect(firstOf(parents)).toEqual([runs.middle, runs.root])
    expect(new Set(firstOf(causes).map(id => id?.split(':')[0]))).toEqual(new Set(Object.values(runs)))
    const { value } = await server.json('runs', 'ancestry', runs.leaf!, '--walk')
    expect(value).toEqual({
      ancestry: [
        { runId: runs.leaf, hostId, parent: parent('middle') },
        { runId: runs.middle, hostId, parent: parent('root') },
        { runId: runs.root, hostId, parent: null },
      ],
      causes: expect.any(Array),
    })
    // Down to where the first run began to hand over, each step in the log of its run.
    const { causes: steps } = value as {
      readonly causes: readonly { runId: string; eventId: string; phase?: string }[]
    }
    expect(steps.map(({ runId }) => runId).filter((runId, k, all) => runId !== all[k - 1])).toEqual([
      runs.leaf,
      runs.middle,
      runs.root,
    ])
    for (const { runId, eventId } of steps) expect(eventId.startsWith(`${runId}:`)).toBe(true)
    expect(steps.at(-1)).toMatchObject({ runId: runs.root })
  })

  test('a run that is not there is an error', async () => {
    const { code, stderr } = await server.assay('runs', 'ancestry', 'nowhere', '--walk')
    expect(code).not.toBe(0)
    expect(stderr).toContain('not_found')
  })
})
