import { mkdirSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { type Sketch, sketch } from '../../../src/testing/workflow.js'
import { HostProcess } from '../../support/host-process.js'
import { callsIn, startHttpServer, stdioServer } from '../../support/mcp-server.js'
import type { McpCall } from '../../support/mcp-tools.mjs'
import { type ModelServer, type ServerRequest, type ServerStep, startModelServer } from '../../support/openai-server.js'

/** Everything around one host: its project, a provider and two tool servers, all of which outlive it. */
export type World = {
  readonly data: string
  readonly database: string
  readonly model: ModelServer
  /** Calls that the tool servers have received, over stdio and over HTTP. */
  toolCalls(): readonly McpCall[]
  start(options?: {
    readonly logLevel?: string
    readonly settings?: { readonly [setting: string]: string }
  }): Promise<HostProcess>
  close(): Promise<void>
}

export type Making = {
  /** A new folder, for everything. */
  readonly folder: string
  readonly database?: string
  readonly agents: { readonly [name: string]: object }
  /** JSON Schemas that agents name as `schemas/<name>.json`. */
  readonly schemas?: { readonly [name: string]: object }
  readonly workflows?: readonly Sketch[]
  readonly plan?: readonly ServerStep[]
  /** Sections of the configuration, besides the tool servers. */
  readonly settings?: {
    readonly models?: object
    readonly prices?: object
    readonly tools?: object
    readonly peers?: object
  }
  /** In the environment of the server over stdio. */
  readonly toolEnv?: { readonly [name: string]: string | { readonly env: string } }
  readonly env?: { readonly [name: string]: string }
  /** Parts of the URLs at which the provider and the tool server are found. */
  readonly modelPath?: string
  readonly toolPath?: string
}

export const KEY = 'sk-live-0123456789abcdef0123456789'
export const WEB_TOKEN = 'Bearer web-token-0123456789abcdef'
export const FILES_TOKEN = 'files-token-0123456789abcdef'

export async function makeWorld(making: Making): Promise<World> {
  const { folder, database = `sqlite:${folder}/data/assay.db`, plan = [], env = {}, modelPath, toolPath } = making
  const data = path.join(folder, 'data')
  const project = path.join(folder, 'project')
  const journal = path.join(folder, 'tool-calls.jsonl')
  mkdirSync(data, { recursive: true })
  const [model, web] = await Promise.all([startModelServer({ plan }), startHttpServer(env.WEB_TOKEN ?? WEB_TOKEN)])
  const modelUrl = modelPath === undefined ? model.url : model.url.replace('/v1', `/${modelPath}/v1`)
  const toolUrl = toolPath === undefined ? web.url : `${web.url}/${toolPath}`
  writeProject(project, journal, { modelUrl, toolUrl }, making)
  return {
    data,
    database,
    model,
    toolCalls: () => [...callsIn(journal), ...web.calls],
    async start({ logLevel = 'error', settings: further = {} } = {}) {
      const settings = { 'log.level': logLevel, ...further }
      const secrets = { OPENAI_BASE_URL: modelUrl, OPENAI_API_KEY: KEY, OPENAI_MODEL: 'm-1', WEB_TOKEN, FILES_TOKEN }
      const hosted = { data, database, project, settings, env: { ...secrets, ...env } }
      const host = await HostProcess.spawn(hosted)
      if ((await host.url()) === undefined) throw new Error(`no host: ${host.errors}`)
      return host
    },
    async close() {
      await Promise.all([model.close(), web.stop()])
    },
  }
}

type Places = { readonly modelUrl: string; readonly toolUrl: string }

function writeProject(project: string, journal: string, { modelUrl, toolUrl }: Places, making: Making): void {
  const { agents, schemas = {}, workflows = [], settings = {}, toolEnv = {} } = making
  for (const part of ['agents/schemas', 'workflows']) mkdirSync(path.join(project, part), { recursive: true })
  const write = (name: string, value: object) => writeFileSync(path.join(project, name), JSON.stringify(value))
  const { kind: _, ...files } = stdioServer(journal, { TOKEN: { env: 'FILES_TOKEN' }, ...toolEnv }) as { kind: string }
  const mcp = { files, web: { url: toolUrl, headers: { Authorization: { env: 'WEB_TOKEN' } } } }
  // Reasoning is no part of OpenAI's own chat protocol, only of what others have made of it.
  const local = { kind: 'openai-compatible', baseUrl: modelUrl, apiKey: { env: 'OPENAI_API_KEY' } }
  const models = { ...settings.models, providers: { local } }
  write('assay.config.json', { ...settings, models, tools: { ...settings.tools, mcp } })
  for (const [name, schema] of Object.entries(schemas)) write(`agents/schemas/${name}.json`, schema)
  for (const [name, agent] of Object.entries(agents)) {
    write(`agents/${name}.json`, { agentId: `local.live.${name}`, persona: name, modelClass: 'general', ...agent })
    write(`workflows/${name}.json`, agentWorkflow(name))
  }
  for (const workflow of workflows) write(`workflows/${workflow.id}.json`, sketch(workflow))
}

/** One node in which the agent works; what it came to is in the variable `result`. */
const agentWorkflow = (name: string) =>
  sketch({
    id: name,
    nodes: { work: { type: 'core.agent', config: { agentId: `local.live.${name}`, resultVariable: 'result' } } },
    variables: [{ name: 'result', type: 'object' }],
  })

/** Requests to the model by effect, in the order in which each was first made. */
export function byEffect(requests: readonly ServerRequest[]): ReadonlyMap<string, readonly ServerRequest[]> {
  const found = new Map<string, ServerRequest[]>()
  for (const request of requests) {
    const key = request.headers['idempotency-key'] ?? ''
    found.set(key, [...(found.get(key) ?? []), request])
  }
  return found
}

/** How often each tool call was received, by effect. */
export function countsByEffect(calls: readonly McpCall[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>()
  for (const { meta } of calls) {
    const id = String(meta?.['assay/effectId'])
    counts.set(id, (counts.get(id) ?? 0) + 1)
  }
  return counts
}

/** Kills a host and waits until it is gone. */
export async function kill(host: HostProcess): Promise<void> {
  host.child.kill('SIGKILL')
  const { signal } = await host.exited
  if (signal !== 'SIGKILL') throw new Error(`the host ended by itself: ${host.errors}`)
}
