/** A table that can go back to what it held when it was asked to remember. */
export class RevertibleMap<Row> extends Map<string, Row> {
  #before: Map<string, Row | undefined> | undefined

  remember(): void {
    this.#before = new Map()
  }

  forget(): void {
    this.#before = undefined
  }

  revert(): void {
    const before = this.#before ?? new Map<string, Row | undefined>()
    this.#before = undefined
    for (const [key, row] of before) {
      if (row === undefined) super.delete(key)
      else super.set(key, row)
    }
  }

  override set(key: string, row: Row): this {
    this.#note(key)
    return super.set(key, row)
  }

  override delete(key: string): boolean {
    this.#note(key)
    return super.delete(key)
  }

  #note(key: string): void {
    if (this.#before && !this.#before.has(key)) this.#before.set(key, this.get(key))
  }
}
