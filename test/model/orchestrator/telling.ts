import type { Json, JsonObject } from '../../../src/core/json.js'

/** An event as the model foresees it: everything but wording, time and the run's own id. */
export type Told = {
  readonly type: string
  readonly node?: string
  /** Index in the log of the event that led to it. */
  readonly cause?: number
  readonly says?: { readonly [field: string]: unknown }
}

export const MASK = '[REDACTED]'

/** The log that the model foresees, and the variables that it amounts to. */
export class Telling {
  readonly log: Told[] = []
  readonly variables = new Map<string, Json>()
  readonly #hidden = new Set<string>()

  hide(name: string): void {
    this.#hidden.add(name)
  }

  hides(name: string): boolean {
    return this.#hidden.has(name)
  }

  tell(type: string, { node, cause, says }: Omit<Told, 'type'> = {}): number {
    this.log.push({
      type,
      ...(node === undefined ? {} : { node }),
      ...(cause === undefined ? {} : { cause }),
      ...(says === undefined ? {} : { says }),
    })
    return this.log.length - 1
  }

  /** Once hidden, a name stays hidden; so does whatever carries a hidden value. */
  change(node: string, name: string, next: Json, hidden: boolean, cause: number): void {
    const masked = hidden || this.hides(name) || this.isSecret(next)
    const previous = this.variables.get(name)
    const shown = { name, ...(previous === undefined ? {} : { previous }), next }
    this.tell('variable.changed', { node, cause, says: masked ? { name, next: MASK } : shown })
    if (masked) this.hide(name)
    this.variables.set(name, next)
  }

  isSecret(value: Json): boolean {
    const text = JSON.stringify(value)
    return [...this.#hidden].some(name => this.variables.has(name) && text.includes(String(this.variables.get(name))))
  }

  bag(): JsonObject {
    return Object.fromEntries(this.variables)
  }
}
