import fs from 'node:fs'
import { register } from 'node:module'
import { createInterface } from 'node:readline'
import { pathToFileURL } from 'node:url'
import { isObject, type Json, type JsonObject } from '../../core/json.js'
import type { StepContext, StepResponse } from './define-step.js'
import { type StepQuestion, FROM_HOST, type FromStep, type StepTask, TO_HOST, type ToStep } from './messages.js'
import { readStep, type UsableStep } from './read-step.js'

/**
 * The process of one step, and of nothing else: loads a file, says what it is, is told to run it, says what came of it. All that is
 * the host's stays there, and is asked for.
 */

const say = (message: FromStep): void => {
  fs.writeSync(TO_HOST, `${JSON.stringify(message)}\n`)
}

const waiting = new Map<number, { resolve: (value: Json) => void; reject: (error: Error) => void }>()
const stopping = new AbortController()
let asked = 0

function ask(what: StepQuestion, args: Json): Promise<Json> {
  asked += 1
  const id = asked
  return new Promise((resolve, reject) => {
    waiting.set(id, { resolve, reject })
    say({ say: 'ask', id, what, args })
  })
}

function heard(message: ToStep, step: UsableStep): void {
  if (message.say === 'run') return void run(step, message.call)
  if (message.say === 'stop') return stopping.abort(new Error('the run no longer wants the result'))
  const one = waiting.get(message.id)
  waiting.delete(message.id)
  if (message.say === 'answer') one?.resolve(message.value)
  else one?.reject(new Error(message.problem))
}

async function run({ run: work }: UsableStep, call: StepTask): Promise<void> {
  try {
    const output = (await work(contextOf(call))) ?? null
    say({ say: 'done', output: JSON.parse(JSON.stringify(output) ?? 'null') as Json })
  } catch (error) {
    const message = error instanceof Error ? `${error.name}: ${error.message}` : String(error)
    const retryable = !(isObject(error) && error.retryable === false)
    say({ say: 'failed', message, retryable })
  }
  process.exit()
}

function contextOf(call: StepTask): StepContext {
  const objects = async (what: StepQuestion, args: JsonObject) => (await ask(what, args)) as readonly JsonObject[]
  const one = async (what: StepQuestion, args: JsonObject) => (await ask(what, args)) as JsonObject | null
  const done = async (what: StepQuestion, args: JsonObject) => void (await ask(what, args))
  return {
    ...call,
    signal: stopping.signal,
    progress: text => say({ say: 'progress', text: String(text) }),
    fetch: async (url, request = {}) =>
      responseOf((await ask('fetch', { ...request, url: String(url) })) as JsonObject),
    memory: {
      get: (memoryRef, memoryId) => one('memory.get', { memoryRef, memoryId }),
      list: (memoryRef, options = {}) => objects('memory.list', { memoryRef, ...options }),
      put: entry => done('memory.put', { ...entry } as JsonObject),
    },
    workspace: {
      read: path => one('workspace.read', { path }),
      list: (prefix = '') => objects('workspace.list', { prefix }),
      write: (path, content, options = {}) => done('workspace.write', { ...options, path, content }),
      remove: path => done('workspace.remove', { path }),
    },
  }
}

function responseOf({ status, headers, text, truncated }: JsonObject): StepResponse {
  const code = Number(status)
  return {
    status: code,
    ok: code >= 200 && code < 300,
    headers: headers as { readonly [name: string]: string },
    truncated: truncated === true,
    text: () => String(text),
    json: () => JSON.parse(String(text)) as Json,
  }
}

/** A workflow is data: what the file makes of it now is what there is. */
async function compile(file: string): Promise<void> {
  try {
    const { default: definition } = (await import(pathToFileURL(file).href)) as { readonly default?: unknown }
    if (isObject(definition)) say({ say: 'workflow', definition: JSON.parse(JSON.stringify(definition)) as JsonObject })
    else say({ say: 'unusable', problem: 'it must export a workflow by default: export default defineWorkflow({ … })' })
  } catch (error) {
    say({ say: 'unusable', problem: error instanceof Error ? `${error.name}: ${error.message}` : String(error) })
  }
  process.exit()
}

async function main(file: string, kind: string): Promise<void> {
  register(new URL('./load-hooks.js', import.meta.url))
  if (kind === 'workflow') return compile(file)
  const read = await readStep(() => import(pathToFileURL(file).href))
  if (!read.ok) {
    say({ say: 'unusable', problem: read.problem })
    process.exit()
  }
  // Before it is said that it is there: the task may come at once.
  const lines = createInterface({ input: fs.createReadStream('', { fd: FROM_HOST }) })
  lines.on('line', line => heard(JSON.parse(line) as ToStep, read.step))
  lines.on('close', () => process.exit())
  say({ say: 'loaded', step: read.step.shown })
}

process.on('uncaughtException', error => {
  say({ say: 'failed', message: `${error.name}: ${error.message}`, retryable: true })
  process.exit()
})

await main(process.argv[2] ?? '', process.argv[3] ?? 'step')
