import type { Plan } from '../../core/workflow/plan.js'
import { sha256 } from '../../digest.js'
import type { InspectedRun, RunEngine } from '../../engine/api.js'
import type { ChildRow } from '../../engine/ports/run-index.js'
import type { InterruptDoc } from '../../wire/interrupt.js'
import { renderSnapshot } from '../../wire/render.js'
import type { RunSnapshot } from '../../wire/run.js'
import { asksOf, interruptDoc } from '../interrupt-link.js'

/** Children that a snapshot shows; `GET /v1/runs?parentRunId=` lists them all. */
const SHOWN_CHILDREN = 100

const hasChildren = new WeakMap<Plan, boolean>()

function mayHaveChildren(plan: Plan): boolean {
  const known = hasChildren.get(plan)
  if (known !== undefined) return known
  const answer = plan.nodes.some(({ type }) => type.hands)
  hasChildren.set(plan, answer)
  return answer
}

/** The children of a run; asks the store only for plans that can have any. */
export async function childRunsOf(engine: RunEngine, view: InspectedRun): Promise<readonly ChildRow[]> {
  return mayHaveChildren(view.plan) ? engine.childrenOf(view.runId, SHOWN_CHILDREN) : []
}

/** Changes whenever the snapshot does: with the log, the status of any child, the link it holds and how much it shows. */
export function snapshotTag(view: InspectedRun, children: readonly ChildRow[], interrupt?: InterruptDoc): string {
  const length = view.state.phase === 'absent' ? 0 : view.state.next
  const token = interrupt?.interruptToken
  const withheld = interrupt?.data.withheld
  if (children.length === 0 && token === undefined && withheld === undefined) return `"${length}-${view.status}"`
  const shown = withheld === undefined ? [] : Object.keys(interrupt?.data ?? {})
  const more = [...children.map(child => `${child.runId}:${child.status}`), token ?? '', ...shown].join()
  return `"${length}-${view.status}-${sha256(more).slice(0, 12)}"`
}

/** What a waiting run asks, for a reader who may not answer. */
export function waitingFor(view: InspectedRun): InterruptDoc | undefined {
  const [open] = asksOf(view)
  return open && interruptDoc(open)
}

export async function snapshotOfRun(engine: RunEngine, view: InspectedRun): Promise<RunSnapshot> {
  return renderSnapshot(view, await childRunsOf(engine, view), waitingFor(view))
}
