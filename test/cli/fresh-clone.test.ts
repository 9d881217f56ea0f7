import { execFileSync, spawn } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { freePort } from '../support/free-port.js'
import { observe, type Running, repository, temporaryFolder, until } from './assay-process.js'

/** What a newcomer does, in order: clone, `npm start`, the commands of the README, stop. */
let folder: string
let clone: string
let start: Running
let url: string
let installedServer: Running | undefined
const env = { ...process.env, NO_COLOR: '1', ASSAY_API_KEY: '', ASSAY_URL: '', ASSAY_DATA: '', DATABASE_URL: '' }

beforeAll(async () => {
  folder = temporaryFolder()
  clone = path.join(folder, 'assay')
  const listed = execFileSync('git', ['ls-files', '-co', '--exclude-standard', '-z'], {
    cwd: repository,
    encoding: 'utf8',
  })
  for (const name of listed.split('\0').filter(name => name !== '' && fs.existsSync(path.join(repository, name)))) {
    fs.cpSync(path.join(repository, name), path.join(clone, name))
  }
  const port = await freePort()
  start = observe(spawn('npm', ['start'], { cwd: clone, env: { ...env, ASSAY_PORT: String(port) }, detached: true }))
  const [, found] = await until(start, /is serving at (\S+)[\s\S]*try .*\n/, 300_000)
  url = found as string
}, 320_000)

afterAll(() => {
  installedServer?.child.kill('SIGKILL')
  endGroup(start.child.pid as number)
  fs.rmSync(folder, { recursive: true })
})

/** npm, its shell and the server: whatever a failed test has left of them. */
function endGroup(pid: number): void {
  try {
    process.kill(-pid, 'SIGKILL')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
  }
}

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

test('the package holds what it needs and runs without the sources', async () => {
  const report = execFileSync('npm', ['pack', '--dry-run', '--json', '--ignore-scripts'], {
    cwd: clone,
    encoding: 'utf8',
  })
  const files = (JSON.parse(report)[0].files as { path: string }[]).map(file => file.path)
  expect(files.filter(name => /^(src|test|bench|node_modules)\/|\.test\./.test(name))).toEqual([])
  const installed = path.join(folder, 'installed')
  for (const name of files) fs.cpSync(path.join(clone, name), path.join(installed, name))
  fs.symlinkSync(path.join(clone, 'node_modules'), path.join(installed, 'node_modules'))
  const data = path.join(folder, 'installed-data')
  const args = ['serve', '--port', String(await freePort()), '--data', data, '--log-level', 'error']
  installedServer = observe(spawn(path.join(installed, 'bin/assay'), args, { cwd: folder, env }))
  await until(installedServer, /try .*\n/)
  const run = await observe(
    spawn(path.join(installed, 'bin/assay'), ['--data', data, 'run', 'hello', '--wait'], { cwd: folder, env }),
  ).done
  expect(run.stdout).toContain('Hello, world!')
  installedServer.child.kill('SIGTERM')
  expect(await installedServer.done).toMatchObject({ code: 0 })
})

test('SIGTERM to `npm start` drains the server', async () => {
  start.child.kill('SIGTERM')
  await start.done
  await expect.poll(() => fs.existsSync(path.join(clone, '.assay/server.json')), { timeout: 15_000 }).toBe(false)
  expect(start.said()).toContain('stopping: finishing what is in progress')
  await expect(fetch(url)).rejects.toThrow()
}, 60_000)
