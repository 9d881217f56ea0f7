import { StoreUnavailable } from '../../src/engine/ports/event-log.js'
import type { Performer } from '../../src/engine/ports/performer.js'
import type { Store } from '../../src/engine/ports/store.js'
import type { Engine } from '../../src/engine/runtime/engine.js'
import type { Rig } from '../../src/testing/engine-rig.js'
import type { Counts } from './counts.js'

/** A process: its store can be made to fail or to be slow, and dies with it. */
export class Process {
  dead = false
  next: 'refuse-commit' | 'lose-answer' | undefined
  /** The next log that is read takes so long to arrive; 0 when it does not. */
  slowReadMs = 0
  engine!: Engine
  readonly performed: string[] = []

  constructor(
    private readonly rig: Rig,
    private readonly seen: Counts,
  ) {}

  async boot(): Promise<this> {
    const performer: Performer = {
      perform: async ({ id }) => {
        this.performed.push(id)
        await this.#passing(300)
        return { ok: true, output: 'done' }
      },
    }
    this.engine = await this.rig.host({
      store: this.#store(),
      performers: new Map([['conformance.side-effect', performer]]),
    })
    return this
  }

  #passing(ms: number): Promise<void> {
    return new Promise(resolve => this.rig.clock.after(ms, resolve))
  }

  #store(): Store {
    return new Proxy(this.rig.store, {
      get: (target, name) => {
        const value = Reflect.get(target, name)
        if (typeof value !== 'function') return value
        if (name === 'onHint') return value.bind(target)
        return async (...parameters: unknown[]) => {
          if (this.dead) return new Promise(() => undefined)
          if (name === 'readEvents') await this.#readSlowly()
          if (name !== 'commit') return value.apply(target, parameters)
          return this.#commit(() => value.apply(target, parameters))
        }
      },
    }) as Store
  }

  async #readSlowly(): Promise<void> {
    const ms = this.slowReadMs
    this.slowReadMs = 0
    if (ms > 0) await this.#passing(ms)
  }

  async #commit(commit: () => ReturnType<Store['commit']>): ReturnType<Store['commit']> {
    const fault = this.next
    this.next = undefined
    if (fault === 'refuse-commit') {
      this.seen['refused commits'] += 1
      throw new StoreUnavailable('refused')
    }
    const result = await commit()
    if (result.kind === 'fenced') this.seen['fenced commits'] += 1
    if (fault === 'lose-answer') {
      this.seen['lost answers'] += 1
      throw new StoreUnavailable('the answer was lost')
    }
    return result
  }
}

/** The outcome, or undefined when the store failed on the way: then nothing is known of it. */
export const unlessUnavailable = <T>(work: Promise<T>): Promise<T | undefined> =>
  work.catch(error => {
    if (error instanceof StoreUnavailable) return undefined
    throw error
  })
