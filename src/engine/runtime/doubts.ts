import { peerWorkOf } from '../../core/handoff/peer-work.js'
import { isAgentId } from '../../core/names.js'
import { firstFew } from '../../core/schema/first-few.js'
import type { Plan } from '../../core/workflow/plan.js'
import { type Mention, namedIn, unknownNamed, warningsOf } from '../../core/workflow/warnings.js'
import type { WorkflowDoubts } from '../api.js'
import type { Agents } from '../ports/agents.js'
import { NO_PEERS, type Peers } from '../ports/peers.js'
import type { WorkflowRecord } from '../ports/workflows.js'
import { hostWorkflow } from './host-workflows.js'

/** Whoever is asked about tools has a limit of their own. */
const NEVER = new AbortController().signal

type Known = Pick<Agents, 'knows' | 'names' | 'lacking'>

/** Agents, workflows and tools that a workflow names and that are not there; what it names may come later. */
async function unknownIn(
  plan: Plan,
  workflows: readonly string[],
  agents: Known,
  peers: Pick<Peers, 'knows'>,
): Promise<string[]> {
  const named = namedIn(plan)
  // What a peer has, nobody here knows; whether there is such a peer, the configuration says.
  const isKnown = (name: string) => {
    const work = peerWorkOf(name)
    return work ? peers.knows(work.peer) : isKnownHere(name)
  }
  const isKnownHere = (name: string) =>
    isAgentId(name)
      ? agents.knows(name)
      : workflows.includes(name) || name === plan.definition.id || hostWorkflow(name) !== undefined
  const absent = named.filter(
    ({ kind, name }) => kind !== 'tool' && !(kind === 'agent' ? agents.knows(name) : isKnown(name)),
  )
  const known = ({ kind }: Mention) => (kind === 'agent' ? agents.names() : [...workflows, ...agents.names()])
  const tools = named.filter(({ kind }) => kind === 'tool')
  const lacking =
    tools.length === 0
      ? []
      : await agents.lacking(
          tools.map(({ name }) => name),
          NEVER,
        )
  return [
    ...firstFew(absent, one => [unknownNamed(one, known(one))]),
    ...firstFew(tools, one => {
      const found = lacking.find(({ toolId, why }) => toolId === one.name && why === 'unknown')
      return found ? [unknownNamed(one, found.close === undefined ? [] : [found.close])] : []
    }),
  ]
}

/** Everything that may be wrong with a workflow that can be taken, among those that there are. */
export async function doubtsOf(
  plan: Plan,
  known: readonly WorkflowRecord[],
  { agents, peers = NO_PEERS }: { readonly agents: Known; readonly peers?: Pick<Peers, 'knows'> },
): Promise<WorkflowDoubts> {
  const ids = known.map(({ workflowId }) => workflowId)
  return { warnings: warningsOf(plan), unknown: await unknownIn(plan, ids, agents, peers) }
}
