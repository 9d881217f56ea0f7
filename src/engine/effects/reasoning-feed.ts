import { SUMMARY_TOKENS } from '../../core/reasoning.js'
import type { EffectContext, EffectOf } from './effect-context.js'

/** Pieces are told when so many characters have come together, or so much time has passed. */
const ENOUGH = 1_024
const FLUSH_MS = 250
const TOKEN_CHARACTERS = 4

/** Tells a run what its model is thinking, in few pieces: each is an event. What fails to be told is not missed. */
export class ReasoningFeed {
  #waiting = ''
  #told = 0
  #sequence = 0
  #disarm: (() => void) | undefined
  #last: Promise<unknown> = Promise.resolve()
  readonly #most: number

  constructor(
    private readonly context: Pick<EffectContext, 'runs' | 'clock'>,
    private readonly runId: string,
    private readonly effect: EffectOf<'call-model'>,
  ) {
    const { verbosity } = effect
    this.#most =
      verbosity === 'full' ? Number.POSITIVE_INFINITY : verbosity === 'off' ? 0 : SUMMARY_TOKENS * TOKEN_CHARACTERS
  }

  take(delta: string): void {
    const room = this.#most - this.#told - this.#waiting.length
    if (room <= 0 || delta === '') return
    this.#waiting += delta.slice(0, room)
    if (this.#waiting.length >= ENOUGH) this.#flush()
    else this.#disarm ??= this.context.clock.after(FLUSH_MS, () => this.#flush())
  }

  /** Everything has been told. A single piece is not: the whole follows at once. */
  async end(): Promise<void> {
    if (this.#sequence > 0) this.#flush()
    this.#disarm?.()
    await this.#last
  }

  #flush(): void {
    this.#disarm?.()
    this.#disarm = undefined
    const delta = this.#waiting
    if (delta === '') return
    this.#waiting = ''
    this.#told += delta.length
    const { nodeId, since, call, attempt } = this.effect
    const input = { type: 'ModelReasoned' as const, nodeId, since, call, attempt, sequence: this.#sequence++, delta }
    // Told in order; one that cannot be told leaves a gap that the whole, which follows, makes good.
    this.#last = this.#last
      .then(() => this.context.runs.submit(this.runId, input, { asHolder: true }))
      .catch(error => ({ error: String(error) }))
  }
}
