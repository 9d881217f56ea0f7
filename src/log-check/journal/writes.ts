import { eachRun, isRetold, type LoggedEvent, type Rule, type RunLog } from '../checked.js'
import { invocationOf } from '../invocation/invocations.js'
import { fields, get, isFields, list, number, same, show, text } from '../json.js'
import { eventsById } from '../node/node-attempts.js'
import { hash } from '../structure/shape.js'
import { isWrite, journalEventsOf, placesBefore, READ, startOfWork, WRITES } from './places.js'

/** What runs write down for later. */
export const writeRules: readonly Rule[] = [
  {
    id: 'L34',
    title:
      'A write, or a read, of memory or workspace is told by a node at work: of an agent as what its tool has brought, what it was given, or what was said when it is done; of any other node as what it began for',
    source: 'agents R-MEM-20, R-LIVE-8',
    assayOnly: true,
    checks: eachRun((run, say) => {
      for (const event of journalEventsOf(run)) for (const problem of originProblems(run, event)) say(problem, event)
    }),
  },
  {
    id: 'L34a',
    title:
      'What a write keeps for the host is what its event says: the same name in the same space, content and its hash of a put, and none of what is forgotten or removed',
    source: 'agents R-MEM-20, design/journal',
    assayOnly: true,
    checks: eachRun((run, say) => {
      for (const event of journalEventsOf(run))
        if (isWrite(event) && isFields(event.raw.secret)) for (const problem of keptProblems(event)) say(problem, event)
    }),
  },
  {
    id: 'L34b',
    title:
      'A write names the start under which its node works: that of the node, or of the work that was sent back to it',
    source: 'design/journal S15',
    assayOnly: true,
    checks: eachRun((run, say) => {
      for (const event of journalEventsOf(run)) {
        const since = get(event.raw.secret, 'since')
        const start = startOfWork(run).get(event)
        if (isWrite(event) && event.raw.secret !== undefined && start !== undefined && since !== start.sequence)
          say(`since is ${show(since)}, and the node works since ${start.sequence}`, event)
      }
    }),
  },
  {
    id: 'L34c',
    title: 'A run writes and reads only where it has a place, and writes into the scope of that place',
    source: 'agents R-MEM-2, R-MEM-8, design/journal J5',
    assayOnly: true,
    checks: eachRun((run, say) => {
      for (const event of journalEventsOf(run)) {
        if (event.raw.secret === undefined) continue
        const space = WRITES[event.type]?.space ?? (event.payload.space as 'memory' | 'workspace')
        const place = placesBefore(run)[event.sequence]?.[space]
        const scope = get(event.raw.secret, 'scope')
        if (place === undefined) say(`the run has no place in ${show(space)}`, event)
        else if (isWrite(event) && scope !== place.scope)
          say(`written into ${show(scope)}, and the run is in ${show(place.scope)}`, event)
      }
    }),
  },
  {
    id: 'L34d',
    title:
      'An entry expires after the moment of its write, and where the node says how long it holds, exactly so long after it; files do not expire',
    source: 'agents R-MEM-5, R-MEM-17, R-MEM-18, design/journal J3',
    assayOnly: true,
    checks: eachRun((run, say) => {
      for (const event of journalEventsOf(run)) {
        const expiresAt = get(event.raw.secret, 'expiresAt')
        if (!isWrite(event) || !isFields(event.raw.secret)) continue
        if (expiresAt !== null && !(Number(expiresAt) > event.at)) say(`it expires at ${show(expiresAt)}`, event)
        if (expiresAt !== null && event.type !== 'memory.written') say('it is no entry that could expire', event)
        const due = lastsUntil(run, event)
        if (due !== undefined && due !== expiresAt) say(`it expires at ${show(expiresAt)}, not ${due}`, event)
      }
    }),
  },
]

function originProblems(run: RunLog, event: LoggedEvent): string[] {
  const start = startOfWork(run).get(event)
  if (start === undefined) return [`${event.node ?? 'no node'} is not at work`]
  const problems = event.payload.nodeId === event.node ? [] : [`it names ${show(event.payload.nodeId)}`]
  const { agentId } = event.payload
  const cause = eventsById(run).get(event.raw.causationId ?? '')
  const invocation = invocationOf(run, event)
  if (invocation === undefined) {
    if (agentId !== undefined) problems.push(`no agent is at work, and it names ${show(agentId)}`)
    if (cause !== start) problems.push('it is not what the node began for')
    return problems
  }
  if (agentId !== invocation.agentId) problems.push(`${show(invocation.agentId)} is at work, not ${show(agentId)}`)
  const isBriefed = event.type === READ && cause === invocation.started
  if (
    !isBriefed &&
    !isExchange(run, event, cause) &&
    !(cause?.type === 'agent.toolReturned' && cause.payload.status === 'ok' && cause.node === event.node)
  )
    problems.push('it is not what a tool has brought')
  return problems
}

/** What a conversation keeps of an answer is told when that stands, directly before the agent is done. */
function isExchange({ events }: RunLog, event: LoggedEvent, cause: LoggedEvent | undefined): boolean {
  const next = events[event.sequence + 1]
  return (
    cause !== undefined &&
    event.type === 'memory.written' &&
    text(event.payload.memoryRef)?.startsWith('conversation:') === true &&
    next?.type === 'agent.invocation.completed' &&
    next.node === event.node &&
    next.payload.outcome === 'completed'
  )
}

function keptProblems({ type, payload, raw }: LoggedEvent): string[] {
  const kept = fields(raw.secret)
  const { space, op } = WRITES[type]!
  const [ref, id] = space === 'memory' ? [payload.memoryRef, payload.memoryId] : ['', payload.path]
  const problems = Object.entries({ space, op, ref, id }).flatMap(([name, value]) =>
    kept[name] === value ? [] : [`${name} is ${show(kept[name])}, not ${show(value)}`],
  )
  const { contentId, bytes, tags, ifMatch, seen } = kept
  const isKept = text(contentId) !== undefined && hash.holds(kept.hash) && Number(bytes) >= 0
  if (op === 'put' && !isKept) problems.push('a put without its content, or the hash of it')
  const nothing = { contentId: null, hash: null, bytes: 0, tags: [], contentType: null }
  if (op === 'forget' && !Object.entries(nothing).every(([name, value]) => same(kept[name], value)))
    problems.push('content of what is gone')
  if (space === 'memory' ? ifMatch !== null || seen !== 0 : list(tags).length > 0)
    problems.push(space === 'memory' ? 'an entry of memory has no versions' : 'a file has no tags')
  return problems
}

/** As the definition says it; undefined where it does not, or another definition may have been in force. */
function lastsUntil(run: RunLog, event: LoggedEvent): number | null | undefined {
  const node = run.graph?.nodes.get(event.node ?? '')
  if (node?.typeId !== 'core.memoryPut' || isRetold(run, event)) return undefined
  const seconds = number(get(node.config, 'ttlSeconds'))
  return seconds === undefined ? null : event.at + seconds * 1_000
}
