import type { Commit } from '../engine/ports/event-log.js'

type Listener = (runId: string) => void

/**
 * Hints between engines that share one store instance. With a single host there is nobody to tell, so nothing is sent;
 * with several, every listener hears of every commit, its own included: a hint only says "look again".
 */
export class LocalHints {
  readonly #listeners = new Set<Listener>()
  readonly #hosts = new Map<string, string>()

  on(listener: Listener): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  registered(hostName: string, hostId: string): void {
    this.#hosts.set(hostName, hostId)
  }

  released(hostId: string): void {
    for (const [name, id] of this.#hosts) if (id === hostId) this.#hosts.delete(name)
  }

  committed(commit: Commit): void {
    if (this.#hosts.size < 2 || this.#listeners.size === 0) return
    const runIds = new Set([...commit.streams.map(stream => stream.runId), ...commit.wakes])
    // Later, so that a listener that throws cannot make a durable commit look like a failed one.
    queueMicrotask(() => {
      for (const runId of runIds) for (const listener of this.#listeners) listener(runId)
    })
  }
}
