import { fork } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { AssayClient } from '../src/client/assay-client.js'
import { type Sketch, sketch } from '../src/testing/workflow.js'
import { freePort } from '../test/support/free-port.js'
import { until } from '../test/support/host-process.js'
import { SEEDED } from './journal-seed.js'

const MEMORY = { memoryRef: 'notes' }

/** Runs that touch memory, and one of ten thousand events to be replayed. */
const WORKFLOWS: readonly Sketch[] = [
  { id: 'noop', nodes: { a: 'core.noop' } },
  { id: 'put', nodes: { a: { type: 'core.memoryPut', config: { ...MEMORY, content: 'note everything new' } } } },
  { id: 'list', nodes: { a: { type: 'core.memoryGet', config: MEMORY } } },
  { id: 'search', nodes: { a: { type: 'core.memoryGet', config: { ...MEMORY, query: 'everything scarce' } } } },
  {
    id: 'kept',
    nodes: {
      put: { type: 'core.memoryPut', config: { ...MEMORY, content: 'note of the source' } },
      list: { type: 'core.memoryGet', config: MEMORY },
      gate: 'core.approvalGate',
    },
    edges: ['put > list', 'list > gate'],
  },
  {
    id: 'ten-thousand-events',
    nodes: { loop: { type: 'core.loop', config: { maxIterations: 2_500 } }, step: 'core.noop' },
    edges: ['loop.body > step', 'step > loop'],
  },
]

type Memory = { readonly rss: number; readonly held: number }

/** A host in a process of its own, on a database that has a journal. */
export type JournalHost = {
  readonly client: AssayClient
  /** Milliseconds from the request to the end of a run. */
  complete(workflowId: string): Promise<number>
  /** After a collection of garbage. */
  memory(): Promise<Memory>
  stop(): Promise<void>
}

export async function serveJournal(folder: string, database: string): Promise<JournalHost> {
  const port = await freePort()
  const settings = { database, 'memory.maxScopeEntries': '1000000', 'limits.maxLoopIterations': '20000' }
  const script = fileURLToPath(new URL('./fair-host.mjs', import.meta.url))
  const child = fork(script, [folder, String(port), '{}', JSON.stringify(settings)], {
    execArgv: ['--expose-gc'],
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  })
  await once(child, 'message')
  const key = readFileSync(path.join(folder, 'local-key'), 'utf8').trim()
  const client = new AssayClient({ url: `http://127.0.0.1:${port}`, key })
  for (const workflow of WORKFLOWS) await client.putWorkflow(workflow.id!, sketch(workflow))
  return {
    client,
    complete: async workflowId => {
      const began = performance.now()
      const { runId } = await client.createRun({ workflowId, inputs: {}, scopeId: SEEDED.scope })
      while ((await client.getRun(runId)).status !== 'completed')
        if (performance.now() - began > 60_000) throw new Error(`a run of ${workflowId} does not complete`)
      return performance.now() - began
    },
    memory: async () => {
      const heard = once(child, 'message')
      child.send('collect')
      return (await heard)[0] as Memory
    },
    stop: async () => {
      const gone = once(child, 'exit')
      child.kill('SIGTERM')
      await gone
    },
  }
}

/** A run that has written and read memory and then waits, to be forked; how long its log is. */
export async function sourceOf({ client }: JournalHost): Promise<{ runId: string; fromSeq: number }> {
  const { runId } = await client.createRun({ workflowId: 'kept', inputs: {}, scopeId: SEEDED.scope })
  await until('the source to wait', async () => (await client.getRun(runId)).status === 'waiting-approval', 60_000)
  return { runId, fromSeq: (await client.readEvents(runId)).length }
}

/** How long a run of ten thousand events takes to be told, and to be replayed from its beginning; how many events it has. */
export async function replayOf({ client }: JournalHost): Promise<{ events: number; told: number; replayed: number[] }> {
  const ended = async (runId: string) => {
    await until('the run to end', async () => (await client.getRun(runId)).status === 'completed', 120_000)
  }
  const began = performance.now()
  const { runId } = await client.createRun({ workflowId: 'ten-thousand-events', inputs: {} })
  await ended(runId)
  const told = performance.now() - began
  const { length: events } = await client.readEvents(runId)
  const replayed: number[] = []
  for (let i = 0; i < 5; i += 1) {
    const start = performance.now()
    await ended((await client.forkRun(runId, { mode: 'replay', fromSeq: 0 })).runId)
    replayed.push(performance.now() - start)
  }
  return { events, told, replayed }
}
