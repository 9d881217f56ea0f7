/**
 * A cache of at most `most` entries; when there are more, the one that was used longest ago goes. Reading is using.
 * Only for what can be had again from elsewhere.
 */
export class Lru<Value> {
  /** The least recently used first. */
  readonly #entries = new Map<string, Value>()
  /** The key that was used last: using it once more moves nothing. */
  #latest: string | undefined

  constructor(private readonly most: number) {}

  get(key: string): Value | undefined {
    const value = this.#entries.get(key)
    if (value !== undefined && key !== this.#latest) this.#use(key, value)
    return value
  }

  set(key: string, value: Value): void {
    this.#use(key, value)
    if (this.#entries.size > this.most) this.#entries.delete(this.#entries.keys().next().value!)
  }

  delete(key: string): void {
    this.#entries.delete(key)
  }

  clear(): void {
    this.#entries.clear()
  }

  keys(): readonly string[] {
    return [...this.#entries.keys()]
  }

  #use(key: string, value: Value): void {
    this.#entries.delete(key)
    this.#entries.set(key, value)
    this.#latest = key
  }
}
