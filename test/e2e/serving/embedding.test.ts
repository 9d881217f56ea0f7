import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { afterEach, describe, expect, test } from 'vitest'
import { AssayClient } from '../../../src/client/assay-client.js'
import { ConfigError } from '../../../src/config.js'
import { embedHost } from '../../../src/embedding.js'
import { startTestHost } from '../../../src/testing/test-host.js'
import { freePort } from '../../support/free-port.js'
import { startModelServer } from '../../support/openai-server.js'

/** What programs are promised of a host that they embed, and tests of the one that they test with. */

const closing: (() => unknown)[] = []
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close()
})

function folderOf(files: { readonly [name: string]: string } = {}): string {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'assay-embedding-'))
  closing.push(() => fs.rmSync(folder, { recursive: true }))
  for (const [name, text] of Object.entries(files)) {
    fs.mkdirSync(path.dirname(path.join(folder, name)), { recursive: true })
    fs.writeFileSync(path.join(folder, name), text)
  }
  return folder
}

const hidden = { database: 'memory:', settings: { 'log.level': 'silent' } } as const

describe('an embedded host', () => {
  test('takes its options, and with `env: {}` nothing from the environment', async () => {
    const said: string[] = []
    const say = (_fields: object, message: string) => said.push(message)
    const project = folderOf({ 'workflows/nothing.yaml': 'nodes:\n  - { id: a, typeId: core.noop }\n' })
    const apiKey = 'a-key-of-my-own-choice'
    const port = await freePort()
    process.env.ASSAY_MODELS_WORKER = 'nobody:nothing'
    closing.push(() => delete process.env.ASSAY_MODELS_WORKER)
    const options = { ...hidden, project, data: folderOf(), port, apiKey, log: { info: say, warn: say, error: say } }
    await expect(embedHost(options)).rejects.toThrow('names the provider nobody')
    const host = await embedHost({ ...options, env: {}, settings: { 'log.access': true } })
    closing.push(() => host.stop())
    expect(host.url).toBe('')
    expect(() => host.connection).toThrow('await start() first')
    await host.start()
    expect(host.connection).toEqual({ url: `http://127.0.0.1:${port}`, key: apiKey })
    const client = new AssayClient(host.connection)
    const { runId } = await client.createRun({ workflowId: 'nothing' })
    expect((await client.getRun(runId)).status).toBe('completed')
    expect(said.length).toBeGreaterThan(1)
  })

  test('without a key of its own it gives its clients that of the data folder', async () => {
    const data = folderOf()
    const host = await embedHost({ ...hidden, data, port: await freePort(), env: {} })
    closing.push(() => host.stop())
    await host.start()
    expect(host.connection.key).toBe(fs.readFileSync(path.join(data, 'local-key'), 'utf8').trim())
    expect((await new AssayClient(host.connection).listRuns()).runs).toEqual([])
  })

  test('a setting that there is not is refused with the one that was meant, and nothing is opened', async () => {
    const data = path.join(folderOf(), 'data')
    const refused = embedHost({ data, settings: { 'limits.maxDept': 3, nonsense: true } })
    await expect(refused).rejects.toThrow(ConfigError)
    await expect(refused).rejects.toThrow('settings: "limits.maxDept" is not a setting; did you mean limits.maxDepth?')
    await expect(embedHost({ data, port: 99_999 })).rejects.toThrow(/port must be a whole number f.*65535.*99999/)
    expect(fs.existsSync(data)).toBe(false)
  })
})

describe('a test host', () => {
  const agent = 'agentId: local.kit.speaker\npersona: A\nmodelClass: general\nsystemPrompt: Speak.\n'

  test('with a script asks no other model, whatever the project says', async () => {
    const model = await startModelServer({ plan: [] })
    closing.push(() => model.close())
    const config = `models: { worker: 'near:m-1', providers: { near: { kind: openai-compatible, baseUrl: '${model.url}' } } }`
    const project = folderOf({ 'agents/speaker.yaml': agent, 'assay.config.yaml': config })
    const host = await startTestHost({
      project,
      port: await freePort(),
      script: [{ agent: 'local.kit.speaker', reply: { text: 'as written' } }],
    })
    closing.push(() => host.stop())
    const { status, outputs, runId } = await host.run('local.kit.speaker', { task: 'speak' })
    expect({ status, outputs }).toMatchObject({ status: 'completed', outputs: { result: 'as written' } })
    expect(model.requests).toHaveLength(0)
    await expect(host.told(runId, 'run.failed')).rejects.toThrow(
      `run ${runId} has ended, and its log has no run.failed`,
    )
  })

  test('one that cannot be started leaves nothing behind', async () => {
    const project = folderOf({ 'workflows/bad.yaml': 'nodes:\n  - { id: a, typeId: core.nope }\n' })
    const { TMPDIR } = process.env
    process.env.TMPDIR = folderOf()
    closing.push(() => Object.assign(process.env, { TMPDIR: TMPDIR ?? '' }))
    await expect(startTestHost({ project, port: await freePort() })).rejects.toThrow('core.nope')
    expect(fs.readdirSync(os.tmpdir())).toEqual([])
  })

  test('its time is the test’s, and its ids are the same every time', async () => {
    const project = folderOf({
      'workflows/w.yaml': 'nodes:\n  - { id: a, typeId: core.delay, config: { delayMs: 60000 } }\n',
    })
    const tellOnce = async () => {
      const host = await startTestHost({ project, port: await freePort(), now: Date.UTC(2030, 0, 1) })
      try {
        const { runId } = await host.client.createRun({ workflowId: 'w' })
        await host.told(runId, 'node.started', 'a')
        await host.clock.advance(60_000)
        const { status, completedAt } = await host.settled(runId)
        return { runId, status, completedAt }
      } finally {
        await host.stop()
      }
    }
    const first = await tellOnce()
    expect(first).toMatchObject({ status: 'completed', completedAt: '2030-01-01T00:01:00.000Z' })
    expect(await tellOnce()).toEqual(first)
  })
})
