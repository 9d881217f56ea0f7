import type { LoggedEvent, RunLog } from '../checked.js'
import { get, text } from '../json.js'
import { causeOf, type NodeAttempt, nodeAttemptOf, oncePerRun, SUB_WORKFLOW } from '../node/node-attempts.js'

/** What is told of one worker: from `dispatch.began` to its end. */
export type Chain = {
  readonly workerId: string | undefined
  /** Undefined where the log does not say which node hands the work out. */
  readonly nodeAttempt: NodeAttempt | undefined
  readonly events: readonly LoggedEvent[]
  /** The same worker's work before, which a gate sent back. */
  readonly again: Chain | undefined
}

/** An event of a chain with the one before it; none before the first, or when there is no chain it could belong to. */
export type Link = {
  readonly event: LoggedEvent
  readonly before: LoggedEvent | undefined
  readonly chain: Chain
}

type Growing = { -readonly [key in keyof Chain]: Chain[key] } & { events: LoggedEvent[]; last: LoggedEvent | undefined }

export const phaseOf = (event: LoggedEvent | undefined): string | undefined => text(event?.payload.phase)

export const linksOf = oncePerRun((run: RunLog): Link[] => {
  const links: Link[] = []
  if (!run.events.some(isChainEvent)) return links
  const chains: Growing[] = []
  const byEvent = new Map<string, Growing>()
  const returned = new Set<Growing>()
  for (const event of run.events) {
    if (event.type === 'assay.run.forked') for (const chain of chains) startOver(chain)
    const sentBack = returnedBy(run, event, chains)
    if (sentBack !== undefined) returned.add(sentBack)
    if (!isChainEvent(event)) continue
    const nodeAttempt = nodeAttemptOf(run, event)
    const known = phaseOf(event) === 'dispatch.began' ? undefined : chainFor(event, nodeAttempt, chains, byEvent)
    const workerId = text(event.payload.workerId)
    const chain = known ?? { workerId, nodeAttempt, events: [], again: undefined, last: undefined }
    if (known === undefined) {
      chain.again = [...returned].find(other => other.workerId === workerId && other.nodeAttempt === nodeAttempt)
      if (chain.again !== undefined) returned.delete(chain.again as Growing)
    }
    if (known === undefined) chains.push(chain)
    links.push({ event, before: chain.last, chain })
    chain.events.push(event)
    chain.last = event
    byEvent.set(event.id, chain)
  }
  return links
})

/** Hand-offs that began in an attempt of a node, in order; of a worker that had to work again, the latest. */
export const chainsIn = (run: RunLog, nodeAttempt: NodeAttempt): Chain[] => chainsOf(run).get(nodeAttempt) ?? []

const chainsOf = oncePerRun((run: RunLog): Map<NodeAttempt | undefined, Chain[]> => {
  const grouped = new Map<NodeAttempt | undefined, Chain[]>()
  for (const chain of new Set(linksOf(run).map(link => link.chain))) {
    const group = grouped.get(chain.nodeAttempt)
    if (group === undefined) grouped.set(chain.nodeAttempt, [chain])
    else if (chain.again !== undefined) group.splice(group.indexOf(chain.again), 1, chain)
    else group.push(chain)
  }
  return grouped
})

/** The chain whose work is to be done again: the one of the child that was judged last at this node. */
function returnedBy(run: RunLog, event: LoggedEvent, chains: readonly Growing[]): Growing | undefined {
  if (event.type !== 'assay.rework.began' || event.payload.point !== 'harvest') return undefined
  const judged = nodeAttemptOf(run, event)?.events.findLast(
    ({ type, sequence }) => type === 'agent.verified' && sequence < event.sequence,
  )
  return chains.findLast(({ events }) =>
    events.some(({ payload }) => payload.childRunId !== undefined && payload.childRunId === judged?.payload.target),
  )
}

const isChainEvent = (event: LoggedEvent): boolean => event.type === 'core.workflowChain.event'

/** By its cause; when that leads nowhere by the child, else by the worker, so that one break is one finding. */
function chainFor(
  event: LoggedEvent,
  nodeAttempt: NodeAttempt | undefined,
  chains: readonly Growing[],
  byEvent: Map<string, Growing>,
): Growing | undefined {
  const caused = byEvent.get(causeOf(event) ?? '')
  if (caused !== undefined) return caused
  const { childRunId, workerId } = event.payload
  return (
    chains.findLast(
      ({ events }) => childRunId !== undefined && events.some(e => e.payload.childRunId === childRunId),
    ) ?? chains.findLast(chain => chain.workerId === workerId && chain.nodeAttempt === nodeAttempt)
  )
}

/** The children of its source are not a branch's own: what had started is dispatched again. */
function startOver(chain: Growing): void {
  if (phaseOf(chain.last) === 'dispatch.succeeded') chain.last = chain.events[0]
}

export const lastPhase = (chain: Chain): string | undefined => phaseOf(chain.events.at(-1))

/** Names under which a worker's results become variables of this run, in order; undefined where nobody can tell. */
export function mappedNames(run: RunLog, chain: Chain): string[] | undefined {
  const declared = run.graph?.nodes.get(chain.events[0]?.node ?? '')
  if (declared === undefined) return undefined
  const own = get(get(declared.config, 'perWorkerOutputMappings'), chain.workerId ?? '')
  return Object.keys((own ?? get(declared.config, 'outputMapping') ?? {}) as object)
}

export const needsApproval = (run: RunLog, chain: Chain): boolean =>
  get(get(configOf(run, chain), 'outputAttestation'), 'requireApproval') === true

/** The node goes on without waiting for its child. */
export const isUnattended = (run: RunLog, chain: Chain): boolean =>
  chain.nodeAttempt?.typeId === SUB_WORKFLOW && get(configOf(run, chain), 'waitForCompletion') === false

export const configOf = (run: RunLog, chain: Chain): unknown =>
  run.graph?.nodes.get(chain.events[0]?.node ?? '')?.config

const FINISHED: readonly (string | undefined)[] = [
  'dispatch.failed',
  'child.failed',
  'child.cancelled',
  'output.harvested',
]

/**
 * Nothing more is to come of the worker, as far as was told before a place of the log. A completed one whose results
 * are wanted still has to be harvested, unless a person or a critic may have refused that.
 */
export function isFinished(run: RunLog, chain: Chain, before: number): boolean {
  const phase = phaseOf(chain.events.findLast(event => event.sequence < before))
  if (isLost(run, chain, before)) return true
  if (FINISHED.includes(phase)) return true
  if (phase === 'dispatch.succeeded') return isUnattended(run, chain)
  return phase === 'child.completed' && !isHarvestDue(run, chain)
}

/** The peer that had it was given up. */
export const isLost = (run: RunLog, chain: Chain, before = Number.POSITIVE_INFINITY): boolean =>
  chain.events.some(({ id }) => (losses(run).get(id) ?? Number.POSITIVE_INFINITY) < before)

/** By the step that the work was at. */
const losses = oncePerRun(
  (run: RunLog) =>
    new Map(
      run.events
        .filter(({ type }) => type === 'assay.peer.lost')
        .map(event => [causeOf(event) ?? '', event.sequence] as const),
    ),
)

export function isHarvestDue(run: RunLog, chain: Chain): boolean {
  const names = mappedNames(run, chain)
  if (names === undefined || names.length === 0 || needsApproval(run, chain)) return false
  return !isRefusedByGate(run, chain)
}

/** R-VERIFY-21: the latest verdict over what it brought is not a pass. */
export const isRefusedByGate = (run: RunLog, chain: Chain): boolean =>
  (verdicts(run).get(chain.events.at(-1)?.payload.childRunId) ?? 'pass') !== 'pass'

/** The latest of each target. */
const verdicts = oncePerRun(
  (run: RunLog) =>
    new Map(
      run.events
        .filter(event => event.type === 'agent.verified')
        .map(({ payload }) => [payload.target, payload.verdict] as const),
    ),
)
