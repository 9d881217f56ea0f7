import { isObject, type Json, type JsonObject } from '../core/json.js'
import { foldEvent } from '../core/view/fold.js'
import type { PublicEvent } from '../core/view/public-event.js'
import { type About, emptyView, type Forked } from '../core/view/run-view.js'
import { viewSnapshot } from '../core/view/snapshot.js'
import { UNTOLD } from '../core/view/untold.js'

/** The fold that readers of a run use, compared with what the server shows of it. */

/** What is compared, and what was left out because no event tells it: by path, how often. */
export type Compared = {
  /** The event after which they differ, and how; none when they never do. */
  readonly differences: readonly string[]
  readonly told: ReadonlyMap<string, number>
  readonly untold: ReadonlyMap<string, number>
}

/**
 * Folds the public events of one run and compares the view after each of them with the snapshot that the server made of
 * the run at that very event.
 */
export function compareView(
  events: readonly PublicEvent[],
  snapshots: readonly JsonObject[],
  about: About = aboutOf(snapshots[0]),
): Compared {
  const differences: string[] = []
  const told = new Map<string, number>()
  const untold = new Map<string, number>()
  let view = emptyView(about)
  for (const [i, event] of events.entries()) {
    view = foldEvent(view, event)
    const found = new Comparison(told, untold)
    found.fields('', viewSnapshot(view), snapshots[i] ?? {})
    differences.push(...found.differences.map(each => `${event.sequence} ${event.type} ${event.nodeId ?? ''}: ${each}`))
  }
  return { differences, told, untold }
}

/** What any snapshot of the run says of it. */
function aboutOf(snapshot: JsonObject = {}): About {
  const forkedFrom = snapshot.forkedFrom as Forked | undefined
  const nodeIds = isObject(snapshot.nodeStates) ? Object.keys(snapshot.nodeStates) : []
  return { nodeIds, ...(forkedFrom && { forkedFrom }) }
}

class Comparison {
  readonly differences: string[] = []

  constructor(
    readonly told: Map<string, number>,
    readonly untold: Map<string, number>,
  ) {}

  fields(path: string, view: JsonObject, server: JsonObject): void {
    for (const [name, value] of Object.entries(view)) this.#value(below(path, name), value, server[name])
    for (const name of Object.keys(server)) {
      if (Object.hasOwn(view, name)) continue
      const known = patternOf(below(path, name))
      if (known === undefined) this.differences.push(`${below(path, name)} is missing`)
      else count(this.untold, known)
    }
  }

  #value(path: string, view: Json, server: Json | undefined): void {
    const known = patternOf(path)
    if (known !== undefined) count(this.told, known)
    if (isObject(view) && isObject(server)) return this.fields(path, view, server)
    if (Array.isArray(view) && Array.isArray(server) && view.length === server.length) {
      for (const [i, item] of view.entries()) this.#value(below(path, String(i)), item, server[i])
      return
    }
    if (view !== server) this.differences.push(`${path} is ${JSON.stringify(server)}, not ${JSON.stringify(view)}`)
  }
}

const count = (counts: Map<string, number>, key: string): unknown => counts.set(key, (counts.get(key) ?? 0) + 1)

const below = (path: string, name: string): string => (path === '' ? name : `${path}\n${name}`)

/** The entry of `UNTOLD` that covers a path. */
function patternOf(path: string): string | undefined {
  const names = path.split('\n')
  return PATTERNS.find(
    ({ steps }) => steps.length === names.length && steps.every((step, i) => step === '*' || step === names[i]),
  )?.pattern
}

const PATTERNS = Object.keys(UNTOLD).map(pattern => ({ pattern, steps: pattern.split('.') }))
