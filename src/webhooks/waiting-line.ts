/** Things that wait, by whom they are for; those they are for take turns. */
export class WaitingLine<T> {
  readonly #lines = new Map<string, T[]>()
  #size = 0

  get size(): number {
    return this.#size
  }

  sizeOf(name: string): number {
    return this.#lines.get(name)?.length ?? 0
  }

  add(name: string, item: T): void {
    this.#size += 1
    const line = this.#lines.get(name)
    if (line === undefined) this.#lines.set(name, [item])
    else line.push(item)
  }

  /** The next thing for somebody who may have one. */
  take(mayHave: (name: string) => boolean): T | undefined {
    for (const [name, line] of this.#lines) {
      if (!mayHave(name)) continue
      const item = line.shift()
      this.#size -= 1
      // To the end of the turn.
      this.#lines.delete(name)
      if (line.length > 0) this.#lines.set(name, line)
      return item
    }
    return undefined
  }

  takeAll(): T[] {
    const all = [...this.#lines.values()].flat()
    this.#lines.clear()
    this.#size = 0
    return all
  }
}
