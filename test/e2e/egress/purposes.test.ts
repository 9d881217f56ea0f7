import fs from 'node:fs'
import http from 'node:http'
import type { AddressInfo } from 'node:net'
import os from 'node:os'
import path from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { AssayClient } from '../../../src/client/assay-client.js'
import { readLocalKey } from '../../../src/client/local-key.js'
import { loadConfig } from '../../../src/config.js'
import { createHost } from '../../../src/host.js'
import { sketch } from '../../../src/testing/workflow.js'
import { isTerminal, until } from '../../support/host-process.js'
import { type ModelServer, startModelServer } from '../../support/openai-server.js'

/** A whole host on a machine where everything it could reach is at 127.0.0.1: who gets there, by which setting. */

const AGENT = 'local.purposes.fetcher'

let folder: string
let origin: string
let model: ModelServer
let reached: string[]
const closing: (() => unknown)[] = []

beforeEach(async () => {
  folder = fs.mkdtempSync(path.join(os.tmpdir(), 'assay-purposes-'))
  closing.push(() => fs.rmSync(folder, { recursive: true }))
  reached = []
  const server = http.createServer((request, response) => {
    reached.push(request.url ?? '')
    response.end('here')
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  closing.push(() => new Promise(resolve => server.close(resolve)))
  origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const calls = [{ name: 'assay_http_get', args: { url: `${origin}/tool` } }]
  model = await startModelServer({
    plan: [{ reply: { kind: 'tools', calls } }, { contains: 'Fetch it', reply: { kind: 'text', text: 'done' } }],
  })
  closing.push(() => model.close())
  writeProject()
})
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close()
})

/** One agent that fetches, and one gate that asks for a page before what the agent says is taken. */
function writeProject(): void {
  const write = (name: string, value: object) => {
    fs.mkdirSync(path.dirname(path.join(folder, 'project', name)), { recursive: true })
    fs.writeFileSync(path.join(folder, 'project', name), JSON.stringify(value))
  }
  const local = { kind: 'openai-compatible', baseUrl: model.url }
  write('assay.config.json', {
    models: { worker: 'local:m-1', providers: { local } },
    tools: { httpAllow: [`${origin}/`] },
  })
  const toolAllowlist = ['assay:http.get']
  const agent = { persona: 'A', modelClass: 'general', systemPrompt: 'Fetch it.', toolAllowlist }
  write('agents/fetcher.json', { ...agent, agentId: AGENT })
  const work = { type: 'core.agent', config: { agentId: AGENT } }
  write('workflows/fetch.json', sketch({ id: 'fetch', nodes: { work } }))
  write('intents/present.json', { type: 'operational', title: 'Present', statement: 'The page can be read.' })
  write('gates/page.json', {
    name: 'The page is there',
    position: { workflow_id: 'fetch', phase_id: 'work', placement: 'phase_exit' },
    intent_refs: ['present'],
    evaluation_criteria: [
      {
        dimension: 'completeness',
        scale: { min: 0, max: 1, type: 'integer' },
        pass_threshold: 1,
        probes: [{ type: 'http', url: `${origin}/probe` }],
      },
    ],
    verifier_requirements: {},
    gate_behaviour: { blocking: false, max_attempts: 1, retries: 0 },
  })
}

type Settings = { readonly [setting: string]: string }

async function startHost(settings: Settings): Promise<AssayClient> {
  const data = path.join(folder, 'data')
  const flags = { project: path.join(folder, 'project'), data, database: 'memory:', port: '0', 'log.level': 'silent' }
  const host = await createHost(loadConfig({ ...flags, ...settings }, {}, folder))
  closing.push(() => host.stop())
  await host.start()
  return new AssayClient({ url: host.url, key: await readLocalKey(data) })
}

/** Whether the host takes the subscription. */
const subscribe = (client: AssayClient, url: string): Promise<boolean> =>
  client.createWebhook({ url, events: ['run.completed'] }).then(
    () => true,
    error => {
      expect(error).toMatchObject({ code: 'webhook_url_rejected' })
      return false
    },
  )

/** What was reached of a webhook, a tool and a probe, each of which was tried. */
async function tryAll(settings: Settings): Promise<readonly string[]> {
  const client = await startHost(settings)
  const isSubscribed = await subscribe(client, `${origin}/webhook`)
  const { runId } = await client.createRun({ workflowId: 'fetch', inputs: { task: 'go' } })
  await until('the run to end', async () => isTerminal((await client.getRun(runId)).status))
  if (isSubscribed) await until('the delivery', async () => reached.includes('/webhook'))
  const events = await client.readEvents(runId)
  const tried = (type: string) => events.filter(event => event.type === type).map(({ payload }) => payload)
  expect(tried('agent.toolReturned')).toMatchObject([{ toolId: 'assay:http.get' }])
  expect(tried('dws.verification.started')).toMatchObject([{ gateId: 'page', probes: 1 }])
  return [...reached].sort()
}

describe('what may be on this machine', () => {
  test.each<[string, Settings, readonly string[]]>([
    ['nothing, unless it is said', {}, []],
    ['webhooks alone', { 'webhooks.allowPrivate': 'true' }, ['/webhook']],
    ['tools alone', { 'tools.allowPrivate': 'true' }, ['/tool']],
    ['probes alone', { 'probes.allowPrivate': 'true' }, ['/probe']],
  ])('%s; a provider of models that was configured there is asked in any case', async (_, settings, expected) => {
    expect(await tryAll(settings)).toEqual(expected)
    expect(model.requests()).toHaveLength(2)
  })

  test('what is configured for models is for models: nobody is told of events there', async () => {
    expect(await subscribe(await startHost({}), model.url)).toBe(false)
  })

  test('the file says it as well as the command line', () => {
    const project = path.join(folder, 'project')
    const file = path.join(project, 'assay.config.json')
    fs.writeFileSync(file, JSON.stringify({ tools: { allowPrivate: true }, probes: { allowPrivate: true } }))
    const { webhooks, tools, probes } = loadConfig({ project }, {}, folder)
    expect([webhooks.allowPrivate, tools.allowPrivate, probes.allowPrivate]).toEqual([false, true, true])
  })
})
