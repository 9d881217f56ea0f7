import { eachRun, type LoggedEvent, type Rule, type RunLog } from '../checked.js'
import { get, show, text } from '../json.js'
import { causeOf } from '../node/node-attempts.js'
import { NAME_A_HOST } from '../structure/structure.js'
import { type Chain, linksOf, phaseOf } from './chains.js'
import { isPeerRun, peerOf } from './peer-names.js'

/** Work at other hosts, and causes there. */
export const peerRules: readonly Rule[] = [
  {
    id: 'L3c',
    title:
      'A cause on another host is either that of a run which a peer has started, told once and with the first event that can, or the end of a peer’s run over which a verdict is',
    source: 'agents §8, R-XHOST-2, R-XHOST-3',
    assayOnly: true,
    checks: eachRun((run, say) => {
      for (const [problem, event] of foreignCauseProblems(run)) say(problem, event)
    }),
  },
  {
    id: 'L21w',
    title: 'Who works at a peer has a run of that peer, and nobody else has one',
    source: 'agents §4; P8 of docs/design/peers.md',
    assayOnly: true,
    checks: eachRun((run, say) => {
      for (const event of run.events) {
        const { childRunId, childWorkflowId, workerId = childWorkflowId } = event.payload
        if (childRunId === undefined || workerId === undefined) continue
        const peer = peerOf(workerId)
        if (
          peer === undefined ? String(childRunId).includes('/') : !isPeerRun(childRunId) || peerOf(childRunId) !== peer
        )
          say(`${show(workerId)} has the run ${show(childRunId)}`, event)
      }
    }),
  },
  {
    id: 'L21x',
    title:
      'A peer is told to be silent, then to be heard or lost, because of the step that its work is at; nothing is told of that work in silence, nor after it was lost; what was lost is let go of once at most',
    source: 'agents R-LOOP-8; P4 to P6 of docs/design/peers.md',
    assayOnly: true,
    checks: eachRun((run, say) => {
      for (const [problem, event] of silenceProblems(run)) say(problem, event)
    }),
  },
  {
    id: 'L21y',
    title:
      'The receipt of a peer is told once of a result that it brought, because of that; it is evidence, by whose key and of how much, or it is none, and why',
    source: 'P17 of docs/design/peers.md',
    assayOnly: true,
    checks: eachRun((run, say) => {
      const told = new Set<unknown>()
      for (const event of run.events) {
        if (event.type !== 'assay.peer.receipt') continue
        const cause = causeOf(event)
        const problem = told.has(cause) ? 'told already' : receiptProblem(run, event, cause)
        if (problem !== undefined) say(problem, event)
        told.add(cause)
      }
    }),
  },
]

function receiptProblem(run: RunLog, { payload }: LoggedEvent, cause: string | undefined): string | undefined {
  const brought = linksOf(run).find(({ event }) => event.id === cause)?.event
  if (phaseOf(brought) !== 'child.completed') return 'of no result that a worker brought'
  const { workerId, peer, childRunId, evidence, why, attempts, passes } = payload
  const isOfIt = workerId === brought?.payload.workerId && childRunId === brought?.payload.childRunId
  if (!isOfIt || peer !== peerOf(childRunId)) return `of another result than ${show(brought?.payload.childRunId)}`
  const said = EVIDENCE.filter(field => payload[field] !== undefined)
  if (evidence !== true) return said.length > 0 || why === undefined ? 'no evidence, and not why' : undefined
  if (said.length < EVIDENCE.length || why !== undefined) return 'evidence, and not of what'
  return Number(passes) <= Number(attempts) ? undefined : `${show(passes)} of ${show(attempts)} have passed`
}

const EVIDENCE: readonly string[] = ['keyId', 'digest', 'attempts', 'passes', 'label']

type Problem = readonly [string, LoggedEvent]

function foreignCauseProblems(run: RunLog): Problem[] {
  const { foreignParent } = run.started
  const first = run.events.find(({ type }) => NAME_A_HOST.includes(type))
  // A branch that has not told it by the cut is nobody's child.
  const isOwed = foreignParent !== undefined && first !== undefined && !isBranchedBefore(run, first)
  const problems: Problem[] = []
  for (const event of run.events) {
    const { causationHostId, target } = event.payload
    if (event === first && isOwed) {
      if (causationHostId !== get(foreignParent, 'hostId') || causeOf(event) !== get(foreignParent, 'eventId'))
        problems.push(['it does not say what has started the run', event])
    } else if (event.type === 'agent.verified' && isPeerRun(target)) {
      if (causationHostId === undefined) problems.push([`a verdict over ${show(target)} that is not due to it`, event])
      else if (causeOf(event)?.startsWith(`${run.run.runId}:`)) problems.push(['a cause of this host', event])
    } else if (causationHostId !== undefined)
      problems.push(['a cause on another host, from which nothing comes', event])
  }
  return problems
}

const isBranchedBefore = ({ fork, ownFrom }: RunLog, { sequence }: LoggedEvent): boolean =>
  fork?.mode === 'branch' && sequence >= ownFrom

function silenceProblems(run: RunLog): Problem[] {
  const chains = new Map<string, Chain>(linksOf(run).map(({ event, chain }) => [event.id, chain]))
  const silent = new Set<Chain>()
  const lost = new Map<string, { readonly chain: Chain; released: boolean }>()
  const gone = new Set<Chain>()
  const latest = new Map<Chain, LoggedEvent>()
  const problems: Problem[] = []
  for (const event of run.events) {
    const link = chains.get(event.id)
    if (link !== undefined) {
      if (gone.has(link)) problems.push(['it goes on after it was lost', event])
      if (silent.has(link)) problems.push(['it goes on in silence', event])
      latest.set(link, event)
    }
    if (event.type === 'assay.run.forked') {
      // Work that was under way is begun anew, by this run.
      for (const chain of latest.keys())
        if (phaseOf(latest.get(chain)) === 'dispatch.succeeded') latest.set(chain, chain.events[0] as LoggedEvent)
      silent.clear()
      lost.clear()
    }
    if (event.type === 'assay.peer.released') {
      const given = lost.get(causeOf(event) ?? '')
      if (given === undefined || given.released || given.chain.workerId !== event.payload.workerId)
        problems.push(['nothing was lost that is let go of', event])
      else given.released = true
    } else if (SILENCE.includes(event.type)) {
      const chain = chains.get(causeOf(event) ?? '')
      const problem =
        chain === undefined ? 'of no work at a peer' : problemOf(event, chain, latest.get(chain), silent.has(chain))
      if (problem !== undefined) problems.push([problem, event])
      if (chain === undefined) continue
      if (event.type === 'assay.peer.silent') silent.add(chain)
      else silent.delete(chain)
      if (event.type !== 'assay.peer.lost') continue
      lost.set(event.id, { chain, released: false })
      gone.add(chain)
    }
  }
  return problems
}

const SILENCE: readonly string[] = ['assay.peer.silent', 'assay.peer.heard', 'assay.peer.lost']

function problemOf(
  event: LoggedEvent,
  chain: Chain,
  at: LoggedEvent | undefined,
  isSilent: boolean,
): string | undefined {
  const { workerId, peer, childRunId } = event.payload
  if (workerId !== chain.workerId || peer !== peerOf(workerId))
    return `${show(workerId)} of ${show(peer)}, which has not the work`
  if (at === undefined || causeOf(event) !== at.id || !UNDER_WAY.includes(phaseOf(at) ?? ''))
    return 'not because of the step that it is at'
  if (childRunId !== text(at.payload.childRunId)) return `its run is ${show(childRunId)}`
  if (isSilent === (event.type === 'assay.peer.silent')) return isSilent ? 'silent already' : 'not silent before'
  return undefined
}

const UNDER_WAY: readonly string[] = ['dispatch.began', 'dispatch.succeeded']
