import type { Agents } from '../engine/ports/agents.js'
import type { Store } from '../engine/ports/store.js'
import type { Engine } from '../engine/runtime/engine.js'
import type { Rig } from './engine-rig.js'

/** Store calls that leave something behind; a process can die before or after any of them. */
const WRITES: ReadonlySet<string> = new Set([
  'commit',
  'claimEffect',
  'finishEffect',
  'releaseEffect',
  'abandonEffect',
  'keepContent',
])

type Options = Omit<NonNullable<Parameters<Rig['host']>[0]>, 'store' | 'agents'>

/** A process that can die: what it was doing stays undone, and nothing more is heard of it. */
export class MortalHost {
  engine!: Engine
  /** The store as this process reaches it. */
  readonly store: Store
  /** Calls of the store that write, so far. */
  writes: string[] = []
  #dead = false
  /** How many writes it will live to see, and whether it sees the last of them done. */
  #death: { readonly at: number; readonly when: 'before' | 'after' } | undefined
  #refused: string | undefined

  constructor(private readonly rig: Rig) {
    this.store = this.#mortal(rig.store)
  }

  async boot(agents: Agents, options: Options = {}): Promise<this> {
    this.engine = await this.rig.host({ ...options, store: this.store, agents: this.#agents(agents) })
    return this
  }

  get isDead(): boolean {
    return this.#dead
  }

  die(): void {
    this.#dead = true
  }

  /** Dies at its n-th write from now on, the first being number 1. */
  dieAt(n: number, when: 'before' | 'after'): void {
    this.#death = { at: this.writes.length + n, when }
  }

  /** The next call of that name fails, without having done anything. */
  refuseOnce(method: string): void {
    this.#refused = method
  }

  /** Whether the refusal that was asked for has happened. */
  get hasRefused(): boolean {
    return this.#refused === undefined
  }

  #mortal(store: Store): Store {
    return new Proxy(store, {
      get: (target, name) => {
        const value = Reflect.get(target, name)
        if (typeof value !== 'function' || name === 'onHint') return value?.bind?.(target) ?? value
        return (...parameters: unknown[]) => this.#call(String(name), () => value.apply(target, parameters))
      },
    }) as Store
  }

  async #call(name: string, work: () => Promise<unknown>): Promise<unknown> {
    if (this.#dead) return never()
    if (this.#refused === name) {
      this.#refused = undefined
      throw new Error(`${name} was refused once`)
    }
    if (!WRITES.has(name)) return this.#unlessDead(await work())
    this.writes.push(name)
    const isLast = this.#death?.at === this.writes.length
    if (isLast && this.#death?.when === 'before') this.#dead = true
    if (this.#dead) return never()
    const result = await work()
    if (isLast) this.#dead = true
    return this.#unlessDead(result)
  }

  #unlessDead<T>(value: T): T | Promise<T> {
    return this.#dead ? never() : value
  }

  #agents(agents: Agents): Agents {
    const mortal =
      <Ask, Answer>(work: (ask: Ask) => Promise<Answer>) =>
      async (ask: Ask): Promise<Answer> =>
        this.#dead ? never() : this.#unlessDead(await work(ask))
    return {
      ...agents,
      prepare: mortal(ask => agents.prepare(ask)),
      callModel: mortal(ask => agents.callModel(ask)),
      callTool: mortal(ask => agents.callTool(ask)),
    }
  }
}

export const never = <T>(): Promise<T> => new Promise(() => undefined)
