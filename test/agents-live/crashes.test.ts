import { mkdtempSync, rmSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { ServerReply, ServerStep } from '../support/openai-server.js'
import { startPostgres } from '../support/postgres.js'
import { calledWith, crashesOver, type Ending, type Tale, tell, twice } from './mortal.js'
import { makeWorld, type World } from './world.js'

const scratch = mkdtempSync(path.join(os.tmpdir(), 'assay-live-crash-'))
let worlds = 0
let kills = 0
let calls = 0

let postgres: Awaited<ReturnType<typeof startPostgres>>
beforeAll(async () => {
  postgres = await startPostgres()
})
afterAll(async () => {
  console.log(`${kills} kills of hosts whose agents made ${calls} model and tool calls`)
  await postgres.stop()
  rmSync(scratch, { recursive: true, force: true })
})

const databases = {
  SQLite: async (folder: string) => `sqlite:${folder}/data/assay.db`,
  PostgreSQL: async () => postgres.createDatabase(),
}
type Kind = keyof typeof databases

const GOOD: ServerReply = { kind: 'text', text: '{"result":{"title":"done"},"confidence":0.9}' }
const BAD: ServerReply = { kind: 'text', text: '{"result":{"title":7},"confidence":0.9}' }
const USE = (...names: readonly string[]): ServerReply => ({
  kind: 'tools',
  calls: names.map(name => ({ name, args: { for: name } })),
})

/** Three model calls, two tool calls between the first two; the provider knows from the request how far it has come. */
const STAGES = [
  { contains: ['do the errand'], reply: USE('mcp_web_read', 'mcp_web_put') },
  { contains: ['put was called'], reply: BAD },
  { contains: ['"title":7'], reply: GOOD },
] as const satisfies readonly ServerStep[]

const planOf = (...first: readonly ServerStep[]): readonly ServerStep[] => [...first, ...[...STAGES].reverse()]

async function inWorld<T>(kind: Kind, plan: readonly ServerStep[], work: (world: World) => Promise<T>): Promise<T> {
  worlds += 1
  const folder = path.join(scratch, String(worlds))
  const handoff = { returnSchemaRef: 'schemas/note.json' }
  const world = await makeWorld({
    folder,
    database: await databases[kind](folder),
    plan,
    agents: {
      errand: { systemPrompt: 'Run errands.', toolAllowlist: ['mcp:web.read', 'mcp:web.put'], handoff },
      piped: { systemPrompt: 'Run errands.', toolAllowlist: ['mcp:files.hang', 'mcp:files.spin'] },
      wired: { systemPrompt: 'Run errands.', toolAllowlist: ['mcp:web.hang', 'mcp:web.quiet'] },
    },
    schemas: { note: { type: 'object', properties: { title: { type: 'string' } }, required: ['title'] } },
    settings: {
      tools: {
        rules: Object.fromEntries(
          ['mcp:files.hang', 'mcp:web.hang'].map(id => [id, { repeat: 'safe', timeoutMs: 500 }]),
        ),
      },
    },
  })
  try {
    return await work(world)
  } finally {
    await world.close()
  }
}

async function telling(kind: Kind, tale: Omit<Tale, 'world'>, plan = planOf()): Promise<Ending> {
  const ending = await inWorld(kind, plan, world => tell({ ...tale, world }))
  if (ending.killed) kills += 1
  calls += [...ending.asked.values(), ...ending.used.values()].reduce((sum, count) => sum + count, 0)
  return ending
}

const expectDone = ({ snapshot, asked, used }: Ending) => {
  expect(snapshot, JSON.stringify(snapshot)).toMatchObject({
    status: 'completed',
    variables: { result: { title: 'done' } },
  })
  expect([asked.size, used.size]).toEqual([3, 2])
}

describe.each(['SQLite', 'PostgreSQL'] as const)('F1: SIGKILL between any two calls of an agent, %s', kind => {
  it('before and after every store transaction: no recorded call is made again', async () => {
    const calm = await telling(kind, { workflowId: 'errand' })
    expectDone(calm)
    expect([twice(calm.asked), twice(calm.used)]).toEqual([0, 0])
    const points = crashesOver(calm.writes, kind === 'PostgreSQL' ? 6 : 1)
    const queue = [...points]
    let died = 0
    let repeated = 0
    const goOn = async () => {
      for (let crash = queue.shift(); crash; crash = queue.shift()) {
        const ending = await telling(kind, { workflowId: 'errand', crash })
        expectDone(ending)
        if (ending.killed) died += 1
        repeated += twice(ending.asked) + twice(ending.used)
      }
    }
    await Promise.all([goOn(), goOn()])
    expect(died).toBe(points.length)
    console.log(`${kind}: ${died} kills over ${calm.writes} transactions, ${repeated} calls repeated`)
  })
})
