import { RunSlot } from '../runtime/run-cache.js'

/** Streams in memory, least recently used first. One at work is never dropped, so there may be more than there is room for. */
export class StreamSlots<Loaded> {
  readonly #slots = new Map<string, RunSlot<Loaded>>()

  constructor(private readonly capacity: number) {}

  get(streamId: string): RunSlot<Loaded> | undefined {
    return this.#slots.get(streamId)
  }

  /** The stream's slot, made if need be, and marked as used. */
  enter(streamId: string): RunSlot<Loaded> {
    const slot = this.#slots.get(streamId) ?? new RunSlot<Loaded>(streamId)
    this.#slots.delete(streamId)
    if (this.#slots.size >= this.capacity) this.#evict()
    this.#slots.set(streamId, slot)
    return slot
  }

  get busy(): RunSlot<Loaded>[] {
    return [...this.#slots.values()].filter(slot => !slot.isIdle)
  }

  /** Forgets everything, stopping what is under way: this host no longer speaks for these streams. */
  clear(): void {
    for (const slot of this.#slots.values()) {
      slot.loaded = undefined
      for (const effect of slot.inFlight.values()) effect.abort()
    }
    this.#slots.clear()
  }

  #evict(): void {
    for (const [id, slot] of this.#slots) {
      if (this.#slots.size < this.capacity) return
      if (slot.isIdle) this.#slots.delete(id)
    }
  }
}
