import { expect } from 'vitest'
import { ForkedStory } from './forked-story.js'
import { FILES, KEYS, REF, WORDS } from './story.js'
import { textsOf, World } from './world.js'

export const SCOPE = 'team'
const TENANTS = ['t1', 't2'] as const
const NEVER = 'run-never'

/** The same things happen in two tenants, under the same names and at once. */
export class TwoTenants {
  readonly world: World
  readonly stories: readonly ForkedStory[]
  tried = 0

  constructor(...[store, told, seen]: ConstructorParameters<typeof World>) {
    this.world = new World(store, told, seen, TENANTS)
    this.stories = TENANTS.map(tenant => new ForkedStory(this.world, told, seen, 3, tenant))
  }

  async tell(): Promise<void> {
    await this.world.boot()
    for (const phase of ['happen', 'fork', 'check'] as const) for (const one of this.stories) await one[phase]()
    await this.#lookNow()
    await this.#reach(0, 1)
    await this.#reach(1, 0)
    await this.#destroy()
    await this.#lookNow()
    await this.stories[0]?.lookBack()
  }

  /** R-MEM-14: whatever is asked for from outside, by list, by id or by its words, it is the tenant's own. */
  async #lookNow(): Promise<void> {
    const { model, memory, workspace, rig } = this.world
    for (const tenant of TENANTS) {
      const own = textsOf(model.seenNow(tenant, 'memory', SCOPE, rig.clock.now()))
      const shown = await this.#listed(tenant, {})
      expect(new Map(shown)).toEqual(own)
      for (const word of WORDS) {
        const meant = [...own].filter(([, text]) => text.split(' ').includes(word))
        expect(new Map(await this.#listed(tenant, { words: [word] }))).toEqual(new Map(meant))
        expect(new Map(await this.#listed(tenant, { tag: word }))).toEqual(new Map(meant))
      }
      for (const id of KEYS) {
        const found = await memory.get(tenant, { scope: SCOPE }, { ref: REF, id })
        expect(found.ok ? found.value.content : undefined).toBe(own.get(`${REF}/${id}`))
      }
      const files = textsOf(model.seenNow(tenant, 'workspace', '', rig.clock.now()))
      for (const path of FILES) {
        const found = await workspace.read(tenant, path)
        expect(found.ok ? String(found.value.whole) : undefined).toBe(files.get(`/${path}`))
      }
      this.tried += shown.length
    }
  }

  async #listed(tenant: string, query: { readonly words?: readonly string[]; readonly tag?: string }) {
    const found = await this.world.memory.list(tenant, { scope: SCOPE }, { limit: 100, ...query })
    if (!found.ok) throw new Error(found.refusal.message)
    return found.value.map(({ row, content }) => [`${row.ref}/${row.id}`, content] as const)
  }

  /** R-MEM-2: by its runs, its moments, its layers and its contents, one tenant gets at nothing of the other's. */
  async #reach(mine: number, theirs: number): Promise<void> {
    const { world } = this
    const { store } = world.rig
    const tenant = TENANTS[mine] ?? ''
    const foreign = [...(this.stories[theirs]?.family ?? []), ...(this.stories[theirs]?.forks ?? [])]
    for (const { runId } of foreign) {
      const named = (name: string) => ({ at: { runId: name, seq: 'end' as const } })
      const refusals = async (name: string) => [
        await world.memory.list(tenant, named(name), { limit: 10 }),
        await world.memory.get(tenant, named(name), { ref: REF, id: 'a' }),
        await world.workspace.list(tenant, { ...named(name), limit: 10 }),
        await world.workspace.read(tenant, 'x.md', named(name)),
        await world.engine.fork({ tenant, runId: name, mode: 'branch', fromSeq: 1 }),
      ]
      const [asked, never] = [await refusals(runId), await refusals(NEVER)]
      expect(asked.map(({ ok }) => ok)).toEqual(asked.map(() => false))
      expect(JSON.stringify(asked).replaceAll(runId, NEVER)).toBe(JSON.stringify(never))
      this.tried += asked.length
    }
    const scopes = [SCOPE, '', ...foreign.flatMap(({ runId }) => [`run:${runId}`, `fork:${runId}`])]
    const runs = foreign.map(({ runId }) => ({ runId, before: 1_000_000 }))
    const names = new Set(foreign.map(({ runId }) => runId))
    for (const space of ['memory', 'workspace'] as const)
      for (const scope of scopes) {
        const reach = { scope, upTo: 1_000_000, runs }
        const { rows } = await store.entriesAt(tenant, space, reach, { limit: 1_000 })
        const found = await store.searchAt(tenant, space, reach, { words: ['red'], limit: 1_000 })
        const keyed = await Promise.all(
          KEYS.map(id => store.entryAt(tenant, space, reach, { ref: space === 'memory' ? REF : '', id })),
        )
        for (const row of [...rows, ...found, ...keyed.flatMap(row => row ?? [])])
          expect([names.has(row.runId), row.runId === `tenant:${TENANTS[theirs]}`]).toEqual([false, false])
        if (scope !== SCOPE && scope !== '') expect(await store.heads(tenant, scope, scope)).toEqual(EMPTY)
        this.tried += 1
      }
    for (const { runId } of foreign)
      for (const { secret } of await store.readEvents(runId, 0)) {
        const { contentId } = JSON.parse(secret ?? '{}') as { contentId?: string }
        if (typeof contentId !== 'string') continue
        expect(await store.readContent(tenant, contentId)).toBe(undefined)
        this.tried += 1
      }
  }

  /** The second destroys all that it has under these names. */
  async #destroy(): Promise<void> {
    const { memory, workspace } = this.world
    await memory.consolidate('t2', SCOPE, REF)
    for (const id of KEYS) await memory.forget('t2', SCOPE, { ref: REF, id }, true)
    for (const path of FILES) await workspace.remove('t2', path, null)
  }
}

const EMPTY = { memory: 0, workspace: 0 }
