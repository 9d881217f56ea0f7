import { spawnSync } from 'node:child_process'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { beforeEach, expect, test } from 'vitest'
import { ensureLocalKey, localKeyFile, readLocalKey } from './local-key.js'
import { announceServer, findServer } from './local-server.js'

let data: string
beforeEach(() => {
  const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'assay-data-'))
  data = path.join(dir, 'data')
  return () => fs.rmSync(dir, { recursive: true })
})

const modeOf = (file: string) => fs.statSync(file).mode & 0o777

test('the local key is made once, for this user only', async () => {
  expect(await readLocalKey(data)).toBeUndefined()
  const keys = await Promise.all(Array.from({ length: 10 }, () => ensureLocalKey(data)))
  expect(new Set(keys).size).toBe(1)
  expect(keys[0]).toMatch(/^hk_local_[\w-]{43}$/)
  expect(await readLocalKey(data)).toBe(keys[0])
  expect([modeOf(data), modeOf(localKeyFile(data))]).toEqual([0o700, 0o600])
  expect(fs.readdirSync(data)).toEqual(['local-key'])
})

test('an announced server is found until it takes its word back', async () => {
  expect(await findServer(data)).toBeUndefined()
  const withdraw = await announceServer(data, 'http://127.0.0.1:4100')
  expect(await findServer(data)).toEqual({ url: 'http://127.0.0.1:4100', pid: process.pid })
  expect(modeOf(path.join(data, 'server.json'))).toBe(0o600)
  await withdraw()
  expect(await findServer(data)).toBeUndefined()
})

test('a server that died, or a file that is not its word, is no server', async () => {
  const { pid } = spawnSync(process.execPath, ['-e', ''])
  fs.mkdirSync(data)
  const file = path.join(data, 'server.json')
  for (const text of [JSON.stringify({ url: 'http://x', pid }), '{', 'null', '{"url": 5, "pid": 1}']) {
    fs.writeFileSync(file, text)
    expect(await findServer(data)).toBeUndefined()
  }
})

test('withdrawing leaves the word of a successor alone', async () => {
  const withdraw = await announceServer(data, 'http://127.0.0.1:1')
  fs.writeFileSync(path.join(data, 'server.json'), JSON.stringify({ url: 'http://127.0.0.1:2', pid: process.ppid }))
  await withdraw()
  expect((await findServer(data))?.url).toBe('http://127.0.0.1:2')
})
