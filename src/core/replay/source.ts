import type { Recorded } from '../run/events.js'
import type { RecordedInput } from '../run/input.js'

/** What a replay's source heard, and with which of its events that stands. */
export type Step = { readonly sequence: number; readonly at: number; readonly input: RecordedInput }

/** Thrown inside a decision that looks at what of its source has not been read yet. It is made again when that has been. */
export class SourceShort extends Error {
  override readonly name = 'SourceShort'
}

/**
 * The log that a replay is told by, read bit by bit. Only what is still needed of it is kept: what was heard and has not
 * been told yet, and the events that have not been compared.
 */
export class Source {
  readonly #events = new Map<number, Recorded>()
  #heard: Step[] = []
  /** Whether what comes later is not heard any more. */
  #isOver = false

  /** `next` is what is read next; the replay's own part begins at `from`, and it may know what stands before `end`. */
  constructor(
    private readonly from: number,
    private readonly end: number,
    public next: number,
  ) {}

  get isWhole(): boolean {
    return this.next >= this.end
  }

  /** Whether everything is known that was heard. */
  get isAllHeard(): boolean {
    return this.#isOver || this.isWhole
  }

  /** What was heard and has not been told, in order. */
  get heard(): readonly Step[] {
    return this.#heard
  }

  /** How many events are kept. */
  get kept(): number {
    return this.#events.size
  }

  read(events: readonly Recorded[]): void {
    for (const event of events) {
      const { sequence, at, input } = event
      this.next = sequence + 1
      if (sequence < this.from) continue
      this.#events.set(sequence, event)
      if (input !== undefined && !this.#isOver) this.#heard.push({ sequence, at, input })
    }
  }

  /** What it said at a sequence; undefined beyond its end. */
  readonly at = (sequence: number): Recorded | undefined => {
    if (sequence >= this.next && !this.isWhole) throw new SourceShort(`event ${sequence} has not been read yet`)
    return this.#events.get(sequence)
  }

  /** This has been told. */
  take(i: number): void {
    this.#heard.splice(i, 1)
  }

  /** Nothing is heard of this, and of what comes after it. */
  closeAt(i: number): void {
    this.#heard = this.#heard.slice(0, i)
    this.#isOver = true
  }

  /** What stands before `upTo` has been compared. */
  forgetBefore(upTo: number): void {
    for (const sequence of this.#events.keys()) {
      if (sequence >= upTo) return
      this.#events.delete(sequence)
    }
  }
}
