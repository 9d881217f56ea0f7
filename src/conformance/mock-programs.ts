import type { ProgramEntry, ProgrammedCall, Programs } from '../engine/ports/today.js'

/** Nodes that may have a program at once, over all tenants: a suite programs a handful. */
const MOST = 10_000

/** What the provider `mock` says, by tenant and node. A program stands until the next one takes its place. */
export class MockPrograms implements Programs {
  readonly #programs = new Map<string, readonly ProgramEntry[]>()

  set(tenant: string, nodeId: string, program: readonly ProgramEntry[]): void {
    const key = keyOf(tenant, nodeId)
    this.#programs.delete(key)
    const [oldest] = this.#programs.size >= MOST ? this.#programs.keys() : []
    if (oldest !== undefined) this.#programs.delete(oldest)
    if (program.length > 0) this.#programs.set(key, program)
  }

  reset(tenant: string): void {
    for (const key of this.#programs.keys()) if (JSON.parse(key)[0] === tenant) this.#programs.delete(key)
  }

  entry({ tenant, nodeId, call }: ProgrammedCall): ProgramEntry | null | undefined {
    const program = this.#programs.get(keyOf(tenant, nodeId))
    return program && (program[call - 1] ?? null)
  }
}

const keyOf = (tenant: string, nodeId: string): string => JSON.stringify([tenant, nodeId])
