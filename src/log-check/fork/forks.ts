import { type CheckedFork, eachRun, type Log, type LoggedEvent, type Rule, type RunLog } from '../checked.js'
import { get, same, show } from '../json.js'
import { TERMINAL } from '../walk.js'

/** Runs that began as a copy of another. */
export const forkRules: readonly Rule[] = [
  {
    id: 'L29',
    title: 'Before its cut a fork has its source’s events, one by one, as they are there',
    source: 'core §8.2',
    checks: eachRun((run, say, log) => {
      const source = sourceOf(run, log)
      if (source === undefined) return
      const differ = differences(run, source, log.input.dialect !== 'openwop')
      for (const event of run.events.slice(0, run.ownFrom)) {
        const original = source.events[event.sequence]
        const fields = original === undefined ? ['existence'] : differ(event, original)
        if (fields.length > 0) say(`not the source's event: another ${fields.join(', ')}`, event)
      }
      if (run.events.length < run.ownFrom) say(`the fork has ${run.events.length} of ${run.ownFrom} shared events`)
    }),
  },
  {
    id: 'L29a',
    title: 'assay.run.forked is the first own event of a branch that goes on after a cut, and occurs nowhere else',
    source: 'core §8.2',
    assayOnly: true,
    checks: eachRun((run, say, log) => {
      const { fork } = run
      if (fork === undefined) return
      const first = run.events[run.ownFrom]
      if (fork !== null && isCut(run, fork) && (first === undefined || !announces(first, fork)))
        say(`the first own event is ${first?.type ?? 'missing'}, or names another cut`, first)
      for (const event of run.events.slice(run.ownFrom)) {
        if (event.type !== 'assay.run.forked' || (fork?.mode === 'branch' && event === first && isCut(run, fork)))
          continue
        if (fork?.mode !== 'replay') say('the run is not forked here', event)
        else if (saysOtherwise(sourceOf(run, log), event)) say('the source is not forked here', event)
      }
    }),
  },
  {
    id: 'L29f',
    title: 'Only a branch that names a setting of a node as changed goes by another definition than its source',
    source: 'core §8.2',
    assayOnly: true,
    checks: eachRun((run, say, log) => {
      const source = sourceOf(run, log)
      const first = run.events[0]
      const isFresh = run.fork?.mode === 'branch' && run.fork.fromSeq === 0
      if (source && isFresh && first && isOther(run, source) && !changesNode(first))
        say('another definition, and no node is said to be changed', first)
      for (const event of run.events)
        if (event.type === 'assay.run.forked' && event.payload.workflowDigest !== undefined && !changesNode(event))
          say('another definition, and no node is said to be changed', event)
    }),
  },
  {
    id: 'L29d',
    title: 'A fork’s source exists, belongs to the same tenant, runs the same workflow, and reaches the cut',
    source: 'core §8.1, §8.2',
    checks: eachRun((run, say, log) => {
      if (!run.fork) return
      const source = sourceOf(run, log)
      if (source !== undefined) for (const problem of sourceProblems(run, run.fork, source)) say(problem)
      else if (log.input.complete === true) say(`its source ${run.fork.sourceRunId} does not exist`)
    }),
  },
]

export const sourceOf = ({ fork }: RunLog, log: Log): RunLog | undefined =>
  fork ? log.byId.get(fork.sourceRunId) : undefined

/** A branch from sequence 0 is a new start and has no cut; a branch after the end of its source has nothing left to do. */
const isCut = (run: RunLog, { mode, fromSeq }: CheckedFork): boolean =>
  mode === 'branch' && fromSeq > 0 && !run.events.slice(0, fromSeq).some(event => TERMINAL.includes(event.type))

const announces = ({ type, payload }: LoggedEvent, fork: CheckedFork): boolean =>
  type === 'assay.run.forked' && payload.sourceRunId === fork.sourceRunId && payload.fromSeq === fork.fromSeq

const isOther = (run: RunLog, source: RunLog): boolean =>
  get(run.started, 'workflowDigest') !== get(source.started, 'workflowDigest')

const changesNode = ({ payload: { changed } }: LoggedEvent): boolean =>
  Array.isArray(changed) && changed.some(name => typeof name === 'string' && /^nodes\..+\.config\./.test(name))

const saysOtherwise = (source: RunLog | undefined, { sequence, type }: LoggedEvent): boolean =>
  source !== undefined && source.events[sequence]?.type !== type

/** Fields in which two events differ. Other hosts may give a copy its own time. */
function differences(run: RunLog, source: RunLog, exact: boolean): (a: LoggedEvent, b: LoggedEvent) => string[] {
  const [ours, theirs] = [placesOf(run), placesOf(source)]
  const causeOf = ({ raw }: LoggedEvent, places: ReadonlyMap<string, number>) =>
    places.get(raw.causationId ?? '') ?? raw.causationId ?? undefined
  return (a, b) => {
    const told: [string, unknown, unknown][] = [
      ['type', a.type, b.type],
      ['node', a.node, b.node],
      ['payload', a.raw.payload, b.raw.payload],
    ]
    if (exact)
      told.push(
        ['cause', causeOf(a, ours), causeOf(b, theirs)],
        ['time', a.at, b.at],
        ['secret', a.raw.secret, b.raw.secret],
        ['hash', a.raw.link?.hash, b.raw.link?.hash],
      )
    return told.filter(([, one, other]) => !same(one, other)).map(([name]) => name)
  }
}

const placesOf = (run: RunLog): Map<string, number> => new Map(run.events.map(event => [event.id, event.sequence]))

function sourceProblems(run: RunLog, fork: CheckedFork, source: RunLog): string[] {
  const { fromSeq, sourceLength } = fork
  const problems: string[] = []
  if (fromSeq < 0 || fromSeq > sourceLength || sourceLength > source.events.length)
    problems.push(`cut at ${fromSeq} of ${sourceLength} events; the source has ${source.events.length}`)
  if (run.tenant !== source.tenant) problems.push(`tenant ${run.tenant}, but its source belongs to ${source.tenant}`)
  // A branch from the very beginning says itself what it has changed (L29f).
  const isFresh = fork.mode === 'branch' && fromSeq === 0
  for (const field of isFresh ? ['workflowId'] : ['workflowId', 'workflowDigest']) {
    const [ours, theirs] = [get(run.started, field), get(source.started, field)]
    if (ours !== theirs) problems.push(`${field} is ${show(ours)}, the source's ${show(theirs)}`)
  }
  return problems
}
