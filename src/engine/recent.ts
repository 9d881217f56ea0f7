/** What was used last, as much of it as there is room for. Nothing is lost with it. */
export class Recent<T> {
  readonly #items = new Map<string, T>()

  constructor(private readonly most: number) {}

  get(id: string): T | undefined {
    return this.#items.get(id)
  }

  clear(): void {
    this.#items.clear()
  }

  put(id: string, item: T): void {
    this.#items.delete(id)
    this.#items.set(id, item)
    const [oldest] = this.#items.keys()
    if (this.#items.size > this.most && oldest !== undefined) this.#items.delete(oldest)
  }
}
