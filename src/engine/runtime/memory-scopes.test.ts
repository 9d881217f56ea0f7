import { describe, expect, it } from 'vitest'
import type { Json, JsonObject } from '../../core/json.js'
import { createSecretRegister } from '../../secrets/redactor.js'
import { agentsDouble, glassVault, type Said } from '../../testing/agents.js'
import { DESK_SETTINGS, engineRig, type Rig, register, startRun } from '../../testing/engine-rig.js'
import { answered, tool, wants } from '../../testing/invocations.js'
import { logOf } from '../../testing/run-logs.js'
import type { Sketch } from '../../testing/workflow.js'
import { NO_TURNS } from '../../timing/turns.js'
import { createRunDesk } from '../journal/run-desk.js'
import type { ModelCallRequest, ToolCallRequest } from '../ports/agents.js'
import type { JournalDesk, Prepared } from '../ports/desk.js'
import type { Engine } from './engine.js'

/** Whose memory and workspace a child, a turn and a time to live are held to, through the real engine. */

const put = (content: string, config: JsonObject = {}) => ({
  type: 'core.memoryPut',
  config: { memoryRef: 'notes', memoryId: 'k', content, ...config },
})
const get = { type: 'core.memoryGet', config: { memoryRef: 'notes', memoryId: 'k' } }
const wait = (ms: number) => ({ type: 'core.delay', config: { ms } })
const child = (workflowId: string, config: JsonObject = {}) => ({
  type: 'core.subWorkflow',
  config: { workflowId, ...config },
})
const ISOLATED = { memoryScopeIsolation: 'isolated' }

const chain = (id: string, nodes: Sketch['nodes']): Sketch => {
  const names = Object.keys(nodes)
  return { id, nodes, edges: names.slice(1).map((name, i) => `${names[i]} > ${name}`) }
}

type Entry = { readonly content: string; readonly createdAt: string; readonly expiresAt?: string }

async function rigWith(...workflows: Sketch[]) {
  const rig = engineRig()
  // Clocks jump here; nobody is to be thought dead for it.
  const engine = await rig.host({ leaseMs: 365 * 24 * 3_600_000 })
  await register(engine, ...workflows)
  return { rig, engine }
}

async function ran({ rig, engine }: { rig: Rig; engine: Engine }, workflowId: string, ms = 3_000): Promise<string> {
  const runId = await startRun(engine, workflowId, { scopeId: 'team' })
  await rig.clock.advance(ms)
  return runId
}

/** What a node of the run, or of one of its children, was given. */
async function given(rig: Rig, runId: string, nodeId: string): Promise<Entry | null> {
  const children = await rig.store.listRuns({ tenant: 't1', limit: 100 })
  const family = [runId, ...children.filter(({ parentRunId }) => parentRunId === runId).map(row => row.runId)]
  const logs = (await Promise.all(family.map(one => logOf(rig, one)))).flat()
  const done = logs.find(({ type, payload }) => type === 'node.completed' && payload.nodeId === nodeId)
  return (done?.payload.outputs as { entry?: Entry | null } | undefined)?.entry ?? null
}

const contentOf = async (...asked: Parameters<typeof given>) => (await given(...asked))?.content ?? null

describe('children', () => {
  it('R-MEM-3 R-MEM-4: have the scope of their parent, which sees what they wrote once they have completed', async () => {
    const world = await rigWith(
      chain('worker', { seen: get, mine: put('of the child'), slow: wait(5_000) }),
      chain('parent', { first: put('of the parent'), hand: child('worker'), after: get }),
      chain('other', { look: get }),
    )
    const runId = await ran(world, 'parent', 1_000)
    const early = await ran(world, 'other', 1_000)
    await world.rig.clock.advance(10_000)
    expect(await contentOf(world.rig, runId, 'seen')).toBe('of the parent')
    expect(await contentOf(world.rig, runId, 'after')).toBe('of the child')
    // No gate holds it: others had it at once.
    expect(await contentOf(world.rig, early, 'look')).toBe('of the child')
  })

  it('R-MEM-2 R-MEM-3: that are isolated have a fresh one, see nothing of their parent’s and leave nothing there', async () => {
    const world = await rigWith(
      chain('worker', { seen: get, mine: put('of the child'), own: get }),
      chain('parent', { first: put('of the parent'), hand: child('worker', ISOLATED), after: get }),
    )
    const runId = await ran(world, 'parent')
    expect(await contentOf(world.rig, runId, 'seen')).toBeNull()
    expect(await contentOf(world.rig, runId, 'own')).toBe('of the child')
    expect(await contentOf(world.rig, runId, 'after')).toBe('of the parent')
    const scopes = (await world.rig.store.listScopes('t1', 'memory', 10)).map(({ scope }) => scope)
    const [worker] = (await world.rig.store.listRuns({ tenant: 't1', limit: 10 })).filter(row => row.parentRunId)
    expect(scopes).toEqual([`run:${worker?.runId}`, 'team'])
  })
})

describe('a time to live', () => {
  it('R-MEM-5: counts from the write of the child, not from the start of its parent, and no read puts it off', async () => {
    const world = await rigWith(
      chain('worker', { first: wait(10_000), mine: put('brief', { ttlSeconds: 3_600 }) }),
      chain('parent', { hand: child('worker'), seen: get }),
      chain('other', { look: get }),
    )
    const { rig } = world
    const began = rig.clock.now()
    const runId = await ran(world, 'parent', 20_000)
    const { createdAt, expiresAt } = (await given(rig, runId, 'seen'))!
    expect(Date.parse(createdAt)).toBe(began + 10_000)
    expect(Date.parse(expiresAt!)).toBe(began + 3_610_000)
    const lookAt = async (at: number) => {
      rig.clock.skip(at - rig.clock.now())
      return contentOf(rig, await ran(world, 'other', 0), 'look')
    }
    expect([await lookAt(began + 3_000_000), await lookAt(began + 3_609_999)]).toEqual(['brief', 'brief'])
    expect(await lookAt(began + 3_610_000)).toBeNull()
  })

  it('R-MEM-5 R-MEM-19: that is over while a node waits changes nothing of what it saw at its start, and ends for the next', async () => {
    const world = await rigWith(chain('flow', { a: put('brief', { ttlSeconds: 5 }), b: get, c: wait(5_000), d: get }))
    const runId = await ran(world, 'flow', 20_000)
    expect([await contentOf(world.rig, runId, 'b'), await contentOf(world.rig, runId, 'd')]).toEqual(['brief', null])
  })

  it('R-MEM-18: that is over before it began is not taken', async () => {
    const { rig, engine } = await rigWith()
    await expect(register(engine, chain('zero', { a: put('never', { ttlSeconds: 0 }) }))).rejects.toThrow(/ttlSeconds/)
    const desk = deskOn(rig)
    for (const ttlSeconds of [0, -1, Number.NaN]) {
      const refused = await desk.put(seatIn(rig), { ...ENTRY, ttlSeconds })
      expect(refused).toEqual({ ok: false, message: expect.stringContaining('what has expired already is not kept') })
    }
    expect(await rig.store.readContent('t1', 'effect.entry')).toBe(undefined)
    expect(await desk.put(seatIn(rig), { ...ENTRY, ttlSeconds: 1 })).toMatchObject({ ok: true })
    expect(await rig.store.readContent('t1', 'effect.entry')).toMatchObject({ text: 'x' })
  })
})

const ENTRY = { space: 'memory' as const, ref: 'notes', id: 'k', content: 'x', tags: [] as string[] }
const deskOn = ({ store }: Rig, redact = (text: string) => text): JournalDesk =>
  createRunDesk({ turns: NO_TURNS, store, vault: glassVault, redact: { text: redact }, settings: DESK_SETTINGS })
const seatIn = ({ clock }: Rig) => {
  const view = [{ scope: 'team', upTo: 0, runs: [], at: clock.now() }]
  return { tenant: 't1', runId: 'r', id: 'effect', desk: { memory: { scope: 'team', view } } }
}

describe('secrets', () => {
  it('R-MEM-15: are replaced by their names in content and tags before anything of them is stored', async () => {
    const secrets = createSecretRegister()
    secrets.add('CRM_KEY', 'hunter2-hunter2')
    secrets.add('LONGER', 'hunter2-hunter2-and-more')
    const rig = engineRig()
    const stored: string[] = []
    const store = new Proxy(rig.store, {
      get: (target, name) => {
        const value = Reflect.get(target, name)
        if (typeof value !== 'function') return value
        return (...parameters: unknown[]) => {
          stored.push(inWords(parameters))
          return value.apply(target, parameters)
        }
      },
    })
    const desk = deskOn({ ...rig, store }, secrets.redact.text)
    const prepared = await desk.put(seatIn(rig), {
      ...ENTRY,
      content: 'the key is hunter2-hunter2, or hunter2-hunter2-and-more',
      tags: ['crm', 'hunter2-hunter2'],
    })
    expect(prepared).toMatchObject({ ok: true, entry: { tags: ['crm', '[REDACTED:CRM_KEY]'] } })
    const { contentId } = (prepared as Extract<Prepared, { ok: true }>).entry
    const kept = await rig.store.readContent('t1', contentId ?? '')
    expect(Buffer.from(kept!.body).toString()).toBe('the key is [REDACTED:CRM_KEY], or [REDACTED:LONGER]')
    expect(kept!.text).toBe('the key is [REDACTED:CRM_KEY], or [REDACTED:LONGER]')
    expect(stored.length).toBeGreaterThan(0)
    expect(stored.join('\n')).not.toContain('hunter2')
  })
})

/** Bytes as the text that they are. */
const inWords = (value: unknown): string =>
  JSON.stringify(value, (_, one: unknown) => {
    const { data, type } = (one ?? {}) as { data?: number[]; type?: string }
    return type === 'Buffer' && data ? Buffer.from(data).toString() : one
  })

const TOOLS = ['t:look', 't:write'].map(id => tool(id))
const SUPERVISOR = 'host:orchestrator:sup'

/** A supervisor that looks, writes and looks again in each of three turns, and a worker that does the same once. */
function team(rig: Rig, looks: string[]) {
  const desk = deskOn(rig)
  const think = (ask: ModelCallRequest): Said => {
    const turn = (JSON.parse(ask.brief.user) as { iteration?: number } | null)?.iteration
    if (ask.rounds.length === 0)
      return { said: wants('t:look', 't:write', 't:look'), args: [{}, { by: turn ?? 'worker' }, {}] as Json[] }
    if (turn === undefined) return { said: answered('done', 0.9) }
    const decision = turn < 3 ? { kind: 'next-worker', nextWorkerIds: ['worker'] } : { kind: 'terminate' }
    return { said: answered(decision as never, 0.9) }
  }
  const use = async ({ tenant, runId, id, desk: seen, toolId, args, agentId }: ToolCallRequest) => {
    const seat = { tenant, runId, id, desk: seen }
    const who = agentId === SUPERVISOR ? 'sup' : 'worker'
    if (toolId === 't:write') {
      const by = String((args as { by: Json }).by)
      const done = await desk.put(seat, { space: 'workspace', ref: '', id: 'log.md', content: by, tags: [] })
      return { ...FINE, ...(done.ok ? { entry: done.entry } : {}) }
    }
    const found = await desk.read(seat, 'workspace', { ref: '', id: 'log.md' })
    looks.push(`${who} sees ${(found.ok && found.entries[0]?.content) || 'nothing'}`)
    return FINE
  }
  return agentsDouble({ agents: { [SUPERVISOR]: { tools: TOOLS }, 'local.worker': { tools: TOOLS } }, think, use })
}

const FINE = { status: 'ok' as const, durationMs: 1, resultTokens: 9 }

describe('turns of an orchestrator', () => {
  it('R-WS-3 R-STATE-8: see files as they were when the turn began, their own from the next on; workers see what was there when they were handed the work', async () => {
    const looks: string[] = []
    const rig = engineRig()
    const engine = await rig.host({ agents: team(rig, looks) })
    await register(
      engine,
      { id: 'worker', nodes: { n: { type: 'core.agent', config: { agentId: 'local.worker' } } } },
      {
        id: 'lead',
        nodes: {
          sup: { type: 'core.orchestrator.supervisor', config: { prompt: 'Lead.' } },
          dispatch: 'core.dispatch',
        },
        edges: ['sup > dispatch', 'dispatch > sup'],
      },
    )
    await startRun(engine, 'lead', { scopeId: 'team' })
    await rig.clock.advance(5_000)
    expect(looks).toEqual([
      'sup sees nothing',
      'sup sees nothing',
      'worker sees 1',
      'worker sees 1',
      'sup sees worker',
      'sup sees worker',
      'worker sees 2',
      'worker sees 2',
      'sup sees worker',
      'sup sees worker',
    ])
  })
})
