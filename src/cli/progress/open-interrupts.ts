import type { AssayClient } from '../../client/assay-client.js'
import type { AskedInterrupt, RunSnapshot } from '../../client/wire-shapes.js'
import { foldEvent } from '../../core/view/fold.js'
import { type AskedView, emptyView, nodeOf } from '../../core/view/run-view.js'
import { UsageError } from '../terminal/usage-error.js'

/** What a run asks and nobody has answered yet. */
export async function interruptsInLog(client: AssayClient, run: RunSnapshot): Promise<AskedInterrupt[]> {
  const { runId, workflowId, interrupt } = run
  const suspended = Object.entries(run.nodeStates ?? {}).flatMap(([id, { status }]) =>
    status === 'suspended' ? [id] : [],
  )
  if (interrupt !== undefined && suspended.length < 2) return [{ runId, workflowId, ...interrupt }]
  if (suspended.length === 0) return []
  // A snapshot shows one at most, and none while the run is paused; the log has them all, but not all that they say.
  const listed = (await client.listInterrupts({ runId })).interrupts
  const events = await client.readEvents(runId)
  const view = events.reduce(foldEvent, emptyView())
  return suspended.flatMap(nodeId => {
    if (nodeId === interrupt?.nodeId) return [{ runId, workflowId, ...interrupt }]
    const whole = listed.find(one => one.nodeId === nodeId)
    if (whole !== undefined) return [whole]
    const { asked } = nodeOf(view, nodeId)
    return asked === undefined ? [] : [{ runId, nodeId, ...askedIn(asked), workflowId, ...deadlineOf(asked) }]
  })
}

/** As far as events tell it: the hash of what is shown is the server's to say. */
function askedIn(open: AskedView) {
  const { votes: _, ...asked } = open
  return asked as Omit<AskedInterrupt, 'runId' | 'nodeId' | 'workflowId'>
}

function deadlineOf({ timeoutMs = 0, requestedAt }: AskedView): { readonly expiresAt?: string } {
  return timeoutMs > 0 ? { expiresAt: new Date(Date.parse(requestedAt) + timeoutMs).toISOString() } : {}
}

/** The same for a run and every child that waits, however deep: a run also waits for what its children ask. */
export async function openBelow(client: AssayClient, run: RunSnapshot): Promise<AskedInterrupt[]> {
  const found = await interruptsInLog(client, run)
  for (const child of run.childRuns ?? []) {
    if (child.status.startsWith('waiting-')) found.push(...(await openBelow(client, await client.getRun(child.runId))))
  }
  return found
}

/** The interrupt that is meant; `nodeId` may be left out when only one is open. */
export async function chosenInterrupt(client: AssayClient, runId: string, nodeId?: string): Promise<AskedInterrupt> {
  const run = await client.getRun(runId)
  const open = await interruptsInLog(client, run)
  const meant = nodeId === undefined ? open : open.filter(one => one.nodeId === nodeId)
  if (meant.length === 1) return meant[0]!
  throw new UsageError(meant.length > 1 ? severalOpen(open) : noneOpen(run, open, nodeId))
}

const severalOpen = (open: readonly AskedInterrupt[]): string =>
  `several nodes wait for an answer; name one: ${open.map(one => one.nodeId).join(', ')}`

function noneOpen(run: RunSnapshot, open: readonly AskedInterrupt[], nodeId: string | undefined): string {
  const place = nodeId === undefined ? `run ${run.runId}` : `node ${JSON.stringify(nodeId)} of run ${run.runId}`
  if (open.length > 0) return `${place} waits for nothing; these do: ${open.map(one => one.nodeId).join(', ')}`
  const below = run.childRuns?.find(child => child.status.startsWith('waiting-'))
  const hint = below === undefined ? '' : `; its child ${below.runId} does`
  return `${place} waits for no answer, it is ${run.status}${hint}`
}
