import { peerWorkOf } from '../../core/handoff/peer-work.js'
import { isAgentId } from '../../core/names.js'
import { type Refusal, refuse } from '../../core/problem.js'
import { firstFew } from '../../core/schema/first-few.js'
import type { WorkflowDefinition } from '../../core/workflow/definition.js'
import type { Plan } from '../../core/workflow/plan.js'
import { schedulesOf } from '../../core/workflow/triggers.js'
import { type Mention, namedIn, unknownNamed, warningsOf } from '../../core/workflow/warnings.js'
import type { RunEngine, WorkflowDoubts } from '../api.js'
import type { Agents } from '../ports/agents.js'
import { NO_PEERS, type Peers } from '../ports/peers.js'
import type { WorkflowRecord } from '../ports/workflows.js'
import type { Schedules } from '../schedules/schedules.js'
import { isReserved, RESERVED } from './agent-workflow.js'
import { hostWorkflow } from './host-workflows.js'
import type { Plans } from './plans.js'

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
async function doubtsOf(
  plan: Plan,
  known: readonly WorkflowRecord[],
  { agents, peers = NO_PEERS }: { readonly agents: Known; readonly peers?: Pick<Peers, 'knows'> },
): Promise<WorkflowDoubts> {
  const ids = known.map(({ workflowId }) => workflowId)
  return { warnings: warningsOf(plan), unknown: await unknownIn(plan, ids, agents, peers) }
}

/** Checks, compiles and stores a definition; whoever has it is told what may be wrong with it. */
export async function acceptWorkflow(
  deps: WorkflowDeps,
  ...[tenant, definition, by]: Parameters<RunEngine['putWorkflow']>
): ReturnType<RunEngine['putWorkflow']> {
  const { plans, schedules } = deps
  const checked = await accepted(deps, tenant, definition)
  if ('code' in checked) return { ok: false, refusal: checked }
  const workflowId = checked.plan.definition.id
  const known = await plans.list(tenant ?? '')
  const namesakes = known.filter(one => one.workflowId === workflowId)
  const isKnown = namesakes.some(one => one.tenant === tenant)
  const isScheduled = [checked.plan.definition, ...namesakes.map(definitionOf)].some(hasSchedules)
  const before = isScheduled ? await schedules.registered(tenant, workflowId) : undefined
  const record = await plans.put(tenant, checked)
  // After it: a host that dies in between leaves schedules of what was there before, which see that by themselves.
  if (isScheduled) await schedules.follow(tenant, workflowId, before, by)
  return { ok: true, value: { record, created: !isKnown, ...(await doubtsOf(checked.plan, known, deps)) } }
}

const definitionOf = ({ definition }: WorkflowRecord): WorkflowDefinition => JSON.parse(definition)

const hasSchedules = (definition: WorkflowDefinition): boolean => schedulesOf(definition).length > 0

type WorkflowDeps = {
  readonly plans: Plans
  readonly schedules: Pick<Schedules, 'refusalOf' | 'registered' | 'follow'>
  readonly agents: Known
  readonly peers?: Pick<Peers, 'knows'>
}

/** The same without storing anything. */
export async function examineWorkflow(
  deps: WorkflowDeps,
  ...[tenant, definition]: Parameters<RunEngine['checkWorkflow']>
): ReturnType<RunEngine['checkWorkflow']> {
  const checked = await accepted(deps, tenant, definition)
  if ('code' in checked) return { ok: false, refusal: checked }
  const doubts = await doubtsOf(checked.plan, await deps.plans.list(tenant ?? ''), deps)
  return { ok: true, value: { digest: checked.plan.digest, ...doubts } }
}

async function accepted(
  { plans, schedules }: WorkflowDeps,
  tenant: string | null,
  definition: unknown,
): Promise<{ plan: Plan; text: string } | Refusal> {
  const checked = await plans.check(definition, tenant)
  if ('code' in checked) return checked
  if (!isReserved(checked.plan.definition.id)) return (await schedules.refusalOf(tenant, checked.plan)) ?? checked
  const message = `the id ${checked.plan.definition.id} is for a workflow of the host's own, as are ids that begin with ${RESERVED}; give it another id`
  return refuse('validation_error', message, { field: 'id' })
}
