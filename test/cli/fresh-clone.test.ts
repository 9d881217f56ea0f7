import { spawn } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { freePort } from '../support/free-port.js'
import { copyRepository, endGroup, observe, type Running, temporaryFolder, until } from './assay-process.js'

/** What a newcomer does, in order: clone, `npm start`, the commands of the README, stop. */
let folder: string
let clone: string
let start: Running
let url: string
const env = { ...process.env, NO_COLOR: '1', ASSAY_API_KEY: '', ASSAY_URL: '', ASSAY_DATA: '', DATABASE_URL: '' }

beforeAll(async () => {
  folder = temporaryFolder()
  clone = path.join(folder, 'assay')
  copyRepository(clone)
  const port = await freePort()
  start = observe(spawn('npm', ['start'], { cwd: clone, env: { ...env, ASSAY_PORT: String(port) }, detached: true }))
  const [, found] = await until(start, /is serving at (\S+)[\s\S]*try .*\n/, 300_000)
  url = found as string
}, 320_000)

afterAll(() => {
  endGroup(start)
  fs.rmSync(folder, { recursive: true })
})

const assay = (...args: string[]) => observe(spawn(path.join(clone, 'bin/assay'), args, { cwd: clone, env })).done

test('`npm start` serves, and `bin/assay run hello --wait` completes', async () => {
  expect(start.said()).toContain('bin/assay run hello --wait')
  const { code, stdout, stderr } = await assay('run', 'hello', '--wait')
  expect({ code, stderr, outputs: JSON.parse(stdout) }).toEqual({
    code: 0,
    stderr: '',
    outputs: { greeting: 'Hello, world!' },
  })
})

test('the same over plain HTTP, with the key from the data folder', async () => {
  const key = fs.readFileSync(path.join(clone, '.assay/local-key'), 'utf8').trim()
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
  const body = JSON.stringify({ workflowId: 'hello', inputs: { name: 'Ada' } })
  const created = (await (await fetch(`${url}/v1/runs`, { method: 'POST', headers, body })).json()) as { runId: string }
  const stream = await (
    await fetch(`${url}/v1/runs/${created.runId}/events`, { headers: { authorization: headers.authorization } })
  ).text()
  expect(stream).toMatch(/event: run\.started[\s\S]*event: run\.completed/)
  expect(stream).toContain('Hello, Ada!')
})

test('a second use starts at once: nothing is installed or built again', async () => {
  expect((await assay('doctor')).stderr).toBe('')
})

test('SIGTERM to `npm start` drains the server', async () => {
  start.child.kill('SIGTERM')
  await start.done
  await expect.poll(() => fs.existsSync(path.join(clone, '.assay/server.json')), { timeout: 15_000 }).toBe(false)
  expect(start.said()).toContain('stopping: finishing what is in progress')
  await expect(fetch(url)).rejects.toThrow()
}, 60_000)
