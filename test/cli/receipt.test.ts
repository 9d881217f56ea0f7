import fs from 'node:fs'
import path from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Server, startServer, temporaryFolder } from './assay-process.js'
import { runHere } from './command-line.js'

let folder: string
let server: Server
let runId: string

beforeAll(async () => {
  folder = temporaryFolder()
  server = await startServer(path.join(folder, 'data'))
  runId = (await server.json('run', 'hello', '--wait')).value.runId
})

afterAll(async () => {
  await server.stop()
  fs.rmSync(folder, { recursive: true })
})

const file = (name: string) => path.join(folder, name)
const keyFiles = () =>
  fs.readdirSync(path.join(server.data, 'audit-keys')).map(name => path.join(server.data, 'audit-keys', name))

test('a receipt is saved, and verified by the server’s keys or by a file with the public key, without a server', async () => {
  const saved = await server.assay('runs', 'receipt', runId, '--out', file('r.json'))
  expect([saved.code, saved.stdout.trim()]).toEqual([0, file('r.json')])
  expect(fs.statSync(file('r.json')).mode & 0o777).toBe(0o600)
  const asked = await server.assay('runs', 'receipt', runId, '--verify', file('r.json'))
  expect([asked.code, asked.stdout]).toEqual([0, expect.stringMatching(new RegExp(`run +${runId}[\\s\\S]*verified`))])
  const [pem = ''] = keyFiles()
  const offline = (...more: string[]) =>
    runHere(['--data', file('nowhere'), 'runs', 'receipt', '--verify', file('r.json'), '--public-key', ...more])
  expect(await offline(pem)).toMatchObject({ code: 0, stdout: expect.stringContaining('completed') })
  const { outputs } = (await server.json('runs', 'get', runId)).value
  fs.writeFileSync(file('outputs.json'), JSON.stringify(outputs, null, 2))
  expect(await offline(pem, '--output', file('outputs.json'))).toMatchObject({
    code: 0,
    stdout: expect.stringContaining('is what the run left, unverified'),
  })
  fs.writeFileSync(file('other.json'), '{"greeting":"other"}')
  expect(await offline(pem, '--output', file('other.json'))).toMatchObject({
    code: 1,
    stdout: expect.stringContaining('[other-output]'),
  })
  const told = await offline(pem, '--json')
  expect(JSON.parse(told.stdout)).toMatchObject({ ok: true, receipt: { run: { runId, status: 'completed' } } })
})

test('what does not verify ends with 1, and what is no such file or key with 2', async () => {
  const text = (await server.assay('runs', 'receipt', runId, '--out', '-')).stdout
  const [pem = ''] = keyFiles()
  const verify = (name: string, key = pem, ...more: string[]) =>
    runHere(['runs', 'receipt', ...more, '--verify', file(name), '--public-key', key])
  fs.writeFileSync(file('good.json'), text)
  expect((await verify('good.json')).code).toBe(0)
  fs.writeFileSync(file('changed.json'), text.replace('"payload":"e', '"payload":"f'))
  expect(await verify('changed.json')).toMatchObject({ code: 1, stdout: expect.stringContaining('not verified') })
  expect(await verify('good.json', pem, 'another-run')).toMatchObject({
    code: 1,
    stdout: expect.stringContaining('[other-run]'),
  })
  expect((await verify('missing.json')).code).toBe(2)
  expect((await verify('good.json', file('good.json'))).code).toBe(2)
  fs.writeFileSync(file('huge.json'), Buffer.alloc(5 * 1024 * 1024, 'x'))
  expect(await verify('huge.json')).toMatchObject({ code: 2, stderr: expect.stringContaining('4194304 at most') })
  expect((await runHere(['runs', 'receipt'])).code).toBe(2)
  expect((await runHere(['runs', 'receipt', runId, '--public-key', pem])).code).toBe(2)
})

test('after the key was changed, old receipts verify by what the server shows, and new ones are signed with the new key', async () => {
  const before = (await server.assay('runs', 'receipt', runId, '--out', '-')).stdout
  fs.writeFileSync(file('before.json'), before)
  const [old = ''] = keyFiles()
  await server.stop()
  fs.renameSync(path.join(server.data, 'audit-key.pem'), file('put-away.pem'))
  server = await startServer(path.join(folder, 'data'))
  const after = (await server.assay('runs', 'receipt', runId, '--out', '-')).stdout
  fs.writeFileSync(file('after.json'), after)
  const keyOf = (text: string): string => JSON.parse(text).signatures[0].keyid
  expect(keyOf(after)).not.toBe(keyOf(before))
  for (const name of ['before.json', 'after.json'])
    expect((await server.assay('runs', 'receipt', runId, '--verify', file(name))).code, name).toBe(0)
  const byOld = (name: string) => runHere(['runs', 'receipt', '--verify', file(name), '--public-key', old])
  expect([(await byOld('before.json')).code, (await byOld('after.json')).code]).toEqual([0, 1])
})
