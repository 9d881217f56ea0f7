import fs from 'node:fs'
import http from 'node:http'
import type { AddressInfo } from 'node:net'
import path from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Server, startServer, temporaryFolder } from './assay-process.js'

let folder: string
let server: Server
let sink: http.Server
let url: string

beforeAll(async () => {
  folder = temporaryFolder()
  server = await startServer(path.join(folder, 'data'), [], { ASSAY_WEBHOOKS_ALLOW_PRIVATE: 'true' })
  sink = http.createServer((request, response) => void request.resume().on('end', () => response.writeHead(204).end()))
  await new Promise<void>(resolve => sink.listen(0, '127.0.0.1', resolve))
  url = `http://127.0.0.1:${(sink.address() as AddressInfo).port}/hook`
})

afterAll(async () => {
  await server.stop()
  sink.close()
  fs.rmSync(folder, { recursive: true })
})

test('webhooks are added with a secret shown once, listed, looked at and removed', async () => {
  const { code, stdout, stderr } = await server.assay('webhooks', 'add', url, '--event', 'run.*', '--tag', 'told')
  expect(code).toBe(0)
  expect(stdout).toMatch(/^[0-9a-f]{64}\n$/)
  const [, webhookId] = /webhook (\S+);/.exec(stderr)!
  const listed = (await server.assay('webhooks', 'list')).stdout
  expect(listed).toMatch(new RegExp(`^${webhookId} +active +run\\.\\* +told +${url}$`, 'm'))
  expect(listed).not.toContain(stdout.trim())
  const { runId } = (await server.json('run', 'hello', '--wait', '--tag', 'told')).value
  await expect
    .poll(async () => (await server.assay('webhooks', 'deliveries', webhookId!)).stdout, { timeout: 60_000 })
    .toMatch(new RegExp(`${runId}:0 +run\\.started +delivered +1 +204`))
  expect((await server.assay('webhooks', 'remove', webhookId!)).stdout).toBe(`${webhookId} removed\n`)
  const gone = await server.assay('webhooks', 'deliveries', webhookId!)
  expect(gone.stderr).toMatch(/\[subscription_not_found\][\s\S]*assay webhooks list/)
})

test.each([
  [['ftp://127.0.0.1/', '--event', '*'], /\[webhook_url_rejected\]/],
  [['https://sink.example/'], /required option '--event/],
])('%j is refused with what to change', async (args, message) => {
  const { code, stderr } = await server.assay('webhooks', 'add', ...args)
  expect(code).toBe(2)
  expect(stderr).toMatch(message)
})
