import type { Refusal } from '../core/problem.js'
import type { HttpConfig } from './config.js'
import { unavailableAnswer } from './framework-error.js'

/**
 * Whether requests are taken. A host listens before it has loaded its workflows, gates and standards, and goes on
 * listening while it finishes what it has in hand: all that time only probes are answered, and whoever asks for
 * something else is told to try again.
 */
export class Serving {
  #phase: 'starting' | 'ready' | 'stopping' = 'starting'
  #underWay = 0
  #settled: () => void = () => undefined

  /** Everything is loaded. A host that was told to stop meanwhile stays closed. */
  open(): void {
    if (this.#phase === 'starting') this.#phase = 'ready'
  }

  /** Takes no more; resolves when each request that `began` has been answered. */
  async stop(): Promise<void> {
    this.#phase = 'stopping'
    if (this.#underWay === 0) return
    await new Promise<void>(resolve => {
      this.#settled = resolve
    })
  }

  /** Why nothing is taken now; undefined when requests are. */
  get reason(): string | undefined {
    return this.#phase === 'ready' ? undefined : `the host is ${this.#phase}`
  }

  refusal(config: HttpConfig): Refusal | undefined {
    return this.#phase === 'ready'
      ? undefined
      : unavailableAnswer(config, `The host is ${this.#phase} and takes no requests now; try again.`)
  }

  /** A request that may change something was let in. */
  began(): void {
    this.#underWay += 1
  }

  ended(): void {
    this.#underWay -= 1
    if (this.#underWay === 0) this.#settled()
  }
}
