import { eachRun, type Rule } from '../checked.js'
import { ALL_RULES, type GraphNode, type Inbound } from '../graph.js'
import { type NodePhase, type NodeTrack, SETTLED, walk } from '../walk.js'

/** The edges of the definition: who must have settled before whom, and that a completed run left nothing undone. */
export const graphOrderRules: readonly Rule[] = [
  {
    id: 'L7d',
    title: 'A node starts a round only when the edges that lead to it have settled as their trigger rules ask',
    source: 'core §9',
    checks: eachRun((run, say) => {
      walk(run, ({ event, node, nodes }) => {
        const declared = run.graph?.nodes.get(event.node ?? '')
        if (event.type !== 'node.started' || node === undefined || declared === undefined) return
        if (node.phase === 'retrying' || node.phase === 'interrupted') return
        for (const problem of edgeProblems(declared, node, nodes)) say(`${declared.id} starts, but ${problem}`, event)
      })
    }),
  },
  {
    id: 'L7e',
    title: 'When a run completes every node has settled, and a failed one had an edge that tolerates it',
    source: 'core §9',
    checks: eachRun((run, say) => {
      walk(run, ({ event, nodes }) => {
        if (event.type !== 'run.completed') return
        for (const declared of run.graph?.nodes.values() ?? []) {
          const track = nodes.get(declared.id)
          const phase = track?.leaving ?? track?.phase ?? 'idle'
          if (!SETTLED.includes(phase) && !declared.disabled) say(`node ${declared.id} is ${phase}`, event)
          if (phase === 'failed' && !declared.failureTolerated) say(`node ${declared.id} failed, untolerated`, event)
        }
      })
    }),
  },
]

function edgeProblems(
  declared: GraphNode,
  node: Readonly<NodeTrack>,
  nodes: ReadonlyMap<string, Readonly<NodeTrack>>,
): string[] {
  const phaseOf = (edge: Inbound) => nodes.get(edge.source)?.phase ?? 'idle'
  const settled = (edge: Inbound): boolean => (nodes.get(edge.source)?.settled ?? 0) > (edge.inStep ? node.settled : 0)
  const problems: string[] = []
  for (const edge of declared.inbound.filter(candidate => ALL_RULES.includes(candidate.rule))) {
    if (!settled(edge)) problems.push(`${edge.source} has not settled`)
    else if (edge.rule !== 'all_complete' && ['failed', 'cancelled'].includes(phaseOf(edge))) {
      problems.push(`${edge.source} ${phaseOf(edge)} and the edge is ${edge.rule}`)
    }
  }
  const alternatives = declared.inbound.filter(edge => WANTED.has(edge.rule))
  if (alternatives.length > 0 && !alternatives.some(edge => settled(edge) && phaseOf(edge) === WANTED.get(edge.rule))) {
    problems.push('none of its any_… edges holds')
  }
  return problems
}

const WANTED: ReadonlyMap<string, NodePhase> = new Map([
  ['any_success', 'completed'],
  ['any_failed', 'failed'],
])
