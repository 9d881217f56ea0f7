import { pathToFileURL } from 'node:url'
import type { Config } from '../../../src/config.js'
import type { Store } from '../../../src/engine/ports/store.js'
import { createHost, type Host } from '../../../src/host.js'
import { MemoryStore } from '../../../src/store/memory/memory-store.js'
import type { ManualClock } from '../../../src/testing/manual-clock.js'

/** Store calls that leave something behind; a process can die before or after any of them. */
const WRITES: ReadonlySet<string> = new Set([
  'commit',
  'claimEffect',
  'finishEffect',
  'releaseEffect',
  'abandonEffect',
  'keepContent',
  'claimReceipt',
  'finishReceipt',
])

export type Death = { readonly at: number; readonly when: 'before' | 'after' }

class Died extends Error {}

const hostOf = async (build: string): Promise<typeof createHost> =>
  ((await import(/* @vite-ignore */ pathToFileURL(`${build}/host.js`).href)) as { createHost: typeof createHost })
    .createHost

/**
 * One of the two hosts: a whole one, with its port, in this process. It can die at any write of its store: from then on
 * it reaches neither its store nor the other host, which is all that anybody could see of it. What it has stored and its
 * data folder go on to the next one.
 */
export class MortalSide {
  #host: Host | undefined
  #life = 0
  #isDead = false
  #death: Death | undefined
  /** Writes since the last `arm` or `boot`, by name. */
  writes: string[] = []
  deaths = 0
  /** Calls of its store under way, and begun so far. */
  busy = 0
  moves = 0
  /** Errors and warnings of its log. */
  readonly lines: { readonly level: string; readonly text: string }[] = []

  constructor(
    readonly name: string,
    readonly config: Config,
    private readonly clock: ManualClock,
    readonly store: Store = new MemoryStore(),
    /** Called in the very moment of its death. */
    private readonly onDeath: () => void = () => undefined,
    /** A build of the host that is not the repository's own. */
    private readonly build?: string,
  ) {}

  get host(): Host {
    if (this.#host === undefined) throw new Error(`host ${this.name} is not there`)
    return this.#host
  }

  get isDead(): boolean {
    return this.#isDead
  }

  /** Its death is still to come. */
  get isDoomed(): boolean {
    return this.#death !== undefined
  }

  get port(): number {
    return Number(new URL(this.host.url).port)
  }

  async boot(): Promise<this> {
    this.#life += 1
    this.#isDead = false
    const note = (level: string) => (fields: object, message: string) =>
      void this.lines.push({ level, text: `${message} ${JSON.stringify(fields)}` })
    const log = { info: () => undefined, warn: note('warn'), error: note('error') }
    const create = this.build === undefined ? createHost : await hostOf(this.build)
    this.#host = await create(this.config, { clock: this.clock, log, wrapStore: () => this.#mortal(this.#life) })
    this.writes = []
    await this.#host.start()
    return this
  }

  /** It dies at its n-th write from now on, the first being number 1. */
  arm(death: Death): void {
    this.writes = []
    this.#death = death
  }

  /** It is gone now. */
  kill(): void {
    if (this.#isDead) return
    this.#isDead = true
    this.#death = undefined
    this.deaths += 1
    this.onDeath()
  }

  /** Takes down what is left of it in this process; its store is out of its reach. */
  async bury(): Promise<void> {
    this.kill()
    await this.#stop()
  }

  /** In good order. */
  async stop(): Promise<void> {
    if (this.#host !== undefined) await this.#stop()
  }

  async #stop(): Promise<void> {
    let isOver = false
    const stopping = this.host
      .stop()
      .catch(error => {
        if (!this.#isDead) throw error
      })
      .finally(() => {
        isOver = true
      })
    this.#host = undefined
    // What it waits for is time; the clock stands still by itself.
    while (!isOver) {
      await new Promise(resolve => setTimeout(resolve, 1))
      if (!isOver) await this.clock.advance(500)
    }
    await stopping
  }

  #mortal(life: number): Store {
    const empty = new MemoryStore()
    return new Proxy(this.store, {
      get: (target, name) => {
        const value = Reflect.get(target, name)
        if (name === 'close') return async () => undefined
        if (typeof value !== 'function' || name === 'onHint') return value?.bind?.(target) ?? value
        return async (...given: unknown[]) => {
          // Nobody is left to see what a dead process does. It must only be able to end.
          if (life !== this.#life || this.#isDead) {
            if (WRITES.has(String(name))) throw new Died(`host ${this.name} is dead`)
            return Reflect.get(empty, name).apply(empty, given)
          }
          return this.#call(String(name), life, () => value.apply(target, given))
        }
      },
    }) as Store
  }

  async #call(name: string, life: number, work: () => Promise<unknown>): Promise<unknown> {
    this.busy += 1
    this.moves += 1
    try {
      let isLast = false
      if (WRITES.has(name)) {
        this.writes.push(name)
        isLast = this.#death?.at === this.writes.length
      }
      const { when } = this.#death ?? {}
      if (isLast && when === 'before') this.kill()
      if (this.#isDead) throw new Died(`host ${this.name} is dead`)
      const result = await work()
      if (isLast) this.kill()
      if (this.#isDead || life !== this.#life) throw new Died(`host ${this.name} is dead`)
      return result
    } finally {
      this.busy -= 1
    }
  }
}
