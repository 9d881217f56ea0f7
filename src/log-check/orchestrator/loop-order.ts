import { eachRun, type LoggedEvent, type Rule, type RunLog } from '../checked.js'
import { get } from '../json.js'
import { SUPERVISOR } from '../node/node-attempts.js'
import { type NodeTrack, SETTLED, walk } from '../walk.js'

/** The loop of a supervisor: whose turn it is. */
export const loopOrderRules: readonly Rule[] = [
  {
    id: 'L20h',
    title:
      'Every node of a supervisor’s loop runs once after each turn that hands work out; the next turn follows when they have settled, or at once when no work was handed out; what lies outside the loop waits for the last turn',
    source: 'agents §3.1, R-LOOP-8',
    assayOnly: true,
    checks: eachRun((run, say) => {
      for (const loop of loopsOf(run)) checkLoop(run, loop, say)
    }),
  },
]

type Loop = { readonly supervisor: string; readonly body: ReadonlySet<string>; readonly after: ReadonlySet<string> }

function loopsOf({ graph }: RunLog): Loop[] {
  const nodes = [...(graph?.nodes.values() ?? [])]
  return nodes
    .filter(node => node.typeId === SUPERVISOR)
    .map(({ id }) => {
      const body = new Set(nodes.filter(node => node.id !== id && node.loops.has(id)).map(node => node.id))
      const after = nodes.filter(node => !body.has(node.id) && node.inbound.some(edge => edge.source === id))
      return { supervisor: id, body, after: new Set(after.map(node => node.id)) }
    })
}

function checkLoop(run: RunLog, loop: Loop, say: (message: string, event: LoggedEvent) => void): void {
  let route: unknown
  let began = new Set<string>()
  let settled = new Set<string>()
  walk(run, ({ event, node, nodes }) => {
    const id = event.node ?? ''
    if (event.type === 'node.completed' && id === loop.supervisor) {
      route = get(event.payload.outputs, 'route')
      began = new Set()
      settled = new Set()
    } else if (event.type === 'node.started' && node !== undefined && isFresh(node)) {
      const problem = startProblem(id)
      if (problem !== undefined) say(`${id} starts, but ${problem}`, event)
      began.add(id)
    } else if (SETTLED.some(phase => event.type === `node.${phase}`)) settled.add(id)
    // Sent back at the exit of the run, the loop begins anew.
    else if (event.type === 'assay.rework.began' && event.payload.point === 'run') route = undefined

    function startProblem(starting: string): string | undefined {
      if (starting === loop.supervisor && route === 'done') return 'the loop was left'
      const open = [...loop.body].find(inner => !settled.has(inner))
      if (starting === loop.supervisor && route === 'body' && open !== undefined) return `${open} has not settled`
      if (loop.body.has(starting)) {
        if (route !== 'body') return `${loop.supervisor} handed out no work`
        if (began.has(starting)) return `it has run in this turn`
      }
      const left = route === 'done' || nodes.get(loop.supervisor)?.phase !== 'completed'
      return loop.after.has(starting) && !left ? `${loop.supervisor} goes on` : undefined
    }
  })
}

const isFresh = ({ phase }: Readonly<NodeTrack>): boolean => phase !== 'retrying' && phase !== 'interrupted'
