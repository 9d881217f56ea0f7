import fs from 'node:fs'
import path from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Server, startServer, temporaryFolder } from './assay-process.js'

let folder: string
let server: Server

beforeAll(async () => {
  folder = temporaryFolder()
  fs.mkdirSync(path.join(folder, 'workflows'))
  const triggers = [{ id: 'yearly', type: 'schedule', config: { cron: '0 0 1 1 *', timezone: 'Europe/Berlin' } }]
  const nodes = [{ id: 'a', typeId: 'core.delay', config: { delayMs: 60_000 } }]
  fs.writeFileSync(path.join(folder, 'workflows/report.json'), JSON.stringify({ nodes, edges: [], triggers }))
  server = await startServer(path.join(folder, 'data'), ['--project', folder])
})

afterAll(async () => {
  await server.stop()
  fs.rmSync(folder, { recursive: true })
})

test('schedules of the project are listed, paused, resumed and run by hand', async () => {
  const listed = async () => (await server.assay('schedules', 'list')).stdout
  expect(await listed()).toMatch(/^report\/yearly +armed +0 0 1 1 \* +Europe\/Berlin +\d{4}-12-31T23:00:00\.000Z +0/m)
  expect((await server.assay('schedules', 'pause', 'report/yearly')).stdout).toBe('report/yearly paused\n')
  expect(await listed()).toMatch(/report\/yearly +paused/)
  expect((await server.assay('schedules', 'resume', 'report/yearly')).stdout).toBe('report/yearly resumed\n')
  const { value } = await server.json('schedules', 'list')
  const { scheduleId } = value.schedules[0]
  expect((await server.assay('schedules', 'run', scheduleId)).stdout).toBe('report/yearly begins a run\n')
  await expect.poll(listed, { timeout: 60_000 }).toMatch(/report\/yearly +running/)
  const again = await server.assay('schedules', 'run', 'report/yearly')
  expect([again.code, again.stderr]).toEqual([2, expect.stringContaining('[schedule_busy]')])
  const unknown = await server.assay('schedules', 'pause', 'report/never')
  expect([unknown.code, unknown.stderr]).toEqual([2, expect.stringContaining('there is no schedule report/never')])
})
