import { eachRun, type LoggedEvent, type Rule, type RunLog } from '../checked.js'
import { number, text } from '../json.js'
import { NODE_EVENTS, type NodePhase, type NodeTrack, SETTLED, waitsForChild, walk } from '../walk.js'

/** One node's life: started → … → settled, attempt by attempt. */
export const nodeLifecycleRules: readonly Rule[] = [
  {
    id: 'L7',
    title: 'A node starts, is worked on, and settles once per round; what settles was started, except what is skipped',
    source: 'core §5.4',
    checks: eachRun((run, say) => {
      walk(run, ({ event, node }) => {
        if (node !== undefined && !isLegal(node, event))
          say(`${event.type} of ${event.node}, which is ${node.phase}`, event)
      })
    }),
  },
  {
    id: 'L7a',
    title: 'A node event names its node, in envelope and payload alike, and the definition has that node and type',
    source: 'core §5.3',
    checks: eachRun((run, say) => {
      for (const event of run.events) for (const problem of namingProblems(run, event)) say(problem, event)
    }),
  },
  {
    id: 'L7b',
    title: 'Attempts count 0, 1, 2 …: anew each round, one more after each retry or immediate pause',
    source: 'core §5.4, §2.1',
    checks: eachRun((run, say) => {
      walk(run, ({ event, node }) => {
        const problem = node === undefined ? undefined : attemptProblem(node, event)
        if (problem !== undefined) say(problem, event)
      })
    }),
  },
  {
    id: 'L7c',
    title: 'A node is retried no more often than its settings, or the settings of the workflow, allow',
    source: 'core §9',
    checks: eachRun((run, say) => {
      walk(run, ({ event, node }) => {
        const declared = event.node === undefined ? undefined : run.graph?.nodes.get(event.node)
        if (event.type !== 'node.retried' || node === undefined || declared === undefined) return
        if (node.retries >= declared.maxRetries) say(`retry ${node.retries + 1} of ${declared.maxRetries}`, event)
      })
    }),
  },
  {
    id: 'L7f',
    title: 'Only a node on a cycle of the definition runs again after it has settled',
    source: 'core §9',
    checks: eachRun((run, say) => {
      walk(run, ({ event, node }) => {
        if (node === undefined || event.node === undefined || !['node.started', 'node.skipped'].includes(event.type))
          return
        const declared = run.graph?.nodes.get(event.node)
        if (declared === undefined || declared.repeats) return
        if (SETTLED.includes(node.phase)) say(`${event.type} of ${event.node}, which has settled`, event)
      })
    }),
  },
]

const ROUND_ENDED: readonly NodePhase[] = ['completed', 'failed', 'skipped']

/** From which phases an event may come. `L7f` decides whether another round is allowed at all. */
const LEGAL_FROM: { readonly [type: string]: readonly NodePhase[] } = {
  'node.started': ['idle', 'retrying', 'interrupted', ...ROUND_ENDED],
  'node.skipped': ['idle', ...ROUND_ENDED],
  'node.dispatched': ['running'],
  'node.completed': ['running', 'suspended'],
  'node.failed': ['running', 'suspended'],
  'node.retried': ['running', 'suspended'],
  'node.cancelled': ['running', 'suspended', 'retrying', 'interrupted'],
  'node.suspended': ['running'],
  'node.suspend-failed': ['running'],
  'node.resumed': ['suspended'],
}

function isLegal(node: NodeTrack, event: LoggedEvent): boolean {
  const legal = LEGAL_FROM[event.type] ?? []
  // A node that waits for a child may go on after an immediate pause as if nothing had happened.
  const asRunning = legal.includes('running') && waitsForChild(node)
  // Of several workers one may be started while a person looks at what another has brought.
  const besides = event.type === 'node.dispatched' && node.phase === 'suspended'
  return legal.includes(node.phase) || (asRunning && (node.phase === 'interrupted' || besides))
}

function attemptProblem(node: NodeTrack, event: LoggedEvent): string | undefined {
  const attempt = number(event.payload.attempt)
  if (event.type === 'node.started' && attempt !== undefined) {
    const due = node.phase === 'retrying' || node.phase === 'interrupted' ? node.attempt + 1 : 0
    if (attempt !== due) return `${event.node} starts as attempt ${attempt}; ${due} is due`
  }
  if (event.type === 'node.retried' && attempt !== undefined && attempt !== node.attempt + 1) {
    return `${event.node} announces attempt ${attempt}; ${node.attempt + 1} is next`
  }
  const attempts = number(event.payload.attempts)
  if (event.type === 'node.failed' && attempts !== undefined) {
    // An immediate pause starts an attempt again without a failure, so a host may count either.
    const least = node.retries + 1
    const most = Math.max(least, node.attempt + 1)
    if (attempts < least || attempts > most) return `${event.node} failed after ${attempts} attempts; it had ${most}`
  }
  return undefined
}

function namingProblems(run: RunLog, event: LoggedEvent): string[] {
  const problems: string[] = []
  if (NODE_EVENTS.includes(event.type) && event.node === undefined) problems.push(`${event.type} names no node`)
  const inside = text(event.payload.nodeId)
  if (event.node !== undefined && inside !== undefined && inside !== event.node) {
    problems.push(`the envelope names ${event.node}, the payload ${inside}`)
  }
  if (run.graph === undefined) return problems
  for (const named of new Set([event.node, inside, text(event.payload.failedNodeId)])) {
    if (named !== undefined && !run.graph.nodes.has(named)) problems.push(`the workflow has no node ${named}`)
  }
  const declared = run.graph.nodes.get(event.node ?? '')
  const typeId = text(event.payload.typeId)
  if (event.type === 'node.started' && declared?.typeId !== undefined && typeId !== declared.typeId) {
    problems.push(`${event.node} starts as ${typeId}; the workflow says ${declared.typeId}`)
  }
  return problems
}
