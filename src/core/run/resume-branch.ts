import { advance } from './advance.js'
import type { Rules } from './decide.js'
import { startNode } from './execute.js'
import { stop } from './stop.js'
import type { Turn } from './turn.js'

/** Sets a branch going whose source was paused, or about to stop, where it was cut. */
export function resumeBranch({ plan, capabilities }: Rules, turn: Turn): void {
  if (turn.state.phase !== 'active') return
  const { mode } = turn.active
  if (mode.kind === 'stopping') return stop(turn, mode.stop)
  for (const index of turn.active.open) {
    const node = turn.active.nodes[index]!
    if (node.is === 'interrupted')
      startNode(turn, plan.nodes[index]!, node.attempt + 1, turn.active.next - 1, capabilities)
    if (!turn.isRunning) return
  }
  advance(turn, capabilities)
}
