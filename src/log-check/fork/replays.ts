import { type CheckedFork, eachRun, type LoggedEvent, type Rule, type RunLog } from '../checked.js'
import { get, same, show } from '../json.js'
import { TERMINAL } from '../walk.js'
import { sourceOf } from './forks.js'

/** Replays: runs that repeat the log of another run. */
export const replayRules: readonly Rule[] = [
  {
    id: 'L29b',
    title:
      'A replay says what its source said, in type, node and payload, until replay.diverged tells of the first difference',
    source: 'core §8.2, §8.5',
    checks: eachRun((run, say, log) => {
      const source = sourceOf(run, log)
      if (source === undefined || run.fork?.mode !== 'replay') return
      for (const [problem, event] of retellingProblems(run, run.fork, source)) say(problem, event)
    }),
  },
  {
    id: 'L29c',
    title:
      'replay.diverged is said by replays only, at most once, before another event, and names its place in both logs',
    source: 'core §8.5',
    checks: eachRun((run, say, log) => {
      if (run.fork === undefined) return
      const source = sourceOf(run, log)
      const remarks = run.events.slice(run.ownFrom).filter(event => isReport(event, source))
      for (const extra of remarks.slice(1)) say('a second difference', extra)
      for (const event of remarks) {
        if (run.fork?.mode !== 'replay') say('a run that replays nothing differs', event)
        else for (const problem of remarkProblems(run, run.fork, event, source)) say(problem, event)
      }
    }),
  },
  {
    id: 'L29g',
    title:
      'replay.divergedAtRefusal is said by replays only, and at most once; it names its source, its place and two kinds that differ, no replay.diverged is said of it, and its node and its run fail because of it',
    source: 'agents R-REPLAY-4, R-REPLAY-8, R-REPLAY-9',
    checks: eachRun((run, say, log) => {
      if (run.fork === undefined) return
      const source = sourceOf(run, log)
      const told = run.events.slice(run.ownFrom).filter(({ type }) => type === AT_REFUSAL)
      for (const extra of told.slice(1)) say('a second refusal', extra)
      for (const event of told) {
        if (run.fork?.mode !== 'replay') say('a run that replays nothing differs', event)
        else for (const [problem, at] of refusalProblems(run, run.fork, event, source)) say(problem, at)
      }
    }),
  },
  {
    id: 'L29e',
    title: 'A replay performs no effect and has no children',
    source: 'core §8.4',
    checks(log, report) {
      const replays = new Set(log.runs.filter(run => run.fork?.mode === 'replay').map(run => run.run.runId))
      for (const run of log.runs) {
        const calls = run.run.invocations?.length ?? 0
        if (replays.has(run.run.runId) && calls > 0) report(run, `a replay that performs ${calls} effects`)
        if (replays.has(run.parentRunId ?? '')) report(run, `a child of the replay ${run.parentRunId}`)
      }
    },
  },
]

/** A replay of a replay repeats its source's `replay.diverged`; that one does not compare these two runs. */
function isReport(event: LoggedEvent, source: RunLog | undefined): boolean {
  const original = source?.events[event.sequence]
  return event.type === 'replay.diverged' && (original === undefined || !saysTheSame(event, original))
}

const AT_REFUSAL = 'replay.divergedAtRefusal'

/** Said of this run and its own source; a replay of such a replay repeats it. */
const isOwnRefusal = ({ type, payload }: LoggedEvent, { sourceRunId }: CheckedFork): boolean =>
  type === AT_REFUSAL && payload.sourceRunId === sourceRunId

type At = readonly [string, LoggedEvent]

function refusalProblems(run: RunLog, fork: CheckedFork, event: LoggedEvent, source: RunLog | undefined): At[] {
  const { atSequence, originalEventId, nodeId, originalEnvelopeKind, replayEnvelopeKind } = event.payload
  const problems: At[] = []
  if (originalEnvelopeKind === replayEnvelopeKind) problems.push([`both are ${show(originalEnvelopeKind)}`, event])
  if (nodeId !== undefined && nodeId !== event.node) problems.push([`it names ${show(nodeId)}`, event])
  const after = run.events.slice(event.sequence + 1)
  const failed = after.find(({ type, node }) => type === 'node.failed' && node === event.node)
  const end = after.at(-1)
  for (const ended of [failed, end])
    if (end !== undefined && TERMINAL.includes(end.type) && codeOf(ended) !== AT_REFUSAL_CODE)
      problems.push([`it ends with ${show(codeOf(ended))}`, ended ?? event])
  for (const { type, sequence } of after)
    if (type === 'node.started') problems.push([`${type} at ${sequence} after the end`, event])
  if (!isOwnRefusal(event, fork)) {
    const original = source?.events[event.sequence]
    if (original !== undefined && !saysTheSame(event, original)) problems.push(['it names another source', event])
    return problems
  }
  if (run.events[event.sequence - 1]?.type === 'replay.diverged') problems.push(['said as a difference, too', event])
  if (atSequence !== event.sequence) problems.push([`atSequence is ${show(atSequence)}`, event])
  const original = source?.events[event.sequence]
  if (original !== undefined && originalEventId !== undefined && originalEventId !== original.id)
    problems.push([`originalEventId is ${show(originalEventId)}`, event])
  return problems
}

const AT_REFUSAL_CODE = 'replay_diverged_at_refusal'

const codeOf = (event: LoggedEvent | undefined): unknown => get(event?.payload.error, 'code')

function retellingProblems(run: RunLog, fork: CheckedFork, source: RunLog): [string, LoggedEvent][] {
  const told = source.events.slice(0, fork.sourceLength)
  const parts = (event: LoggedEvent) => isReport(event, source) || isOwnRefusal(event, fork)
  const until = run.events.findIndex((event, place) => place >= fork.fromSeq && parts(event))
  const length = Math.min(told.length, run.events.length, until < 0 ? Number.POSITIVE_INFINITY : until)
  for (let place = fork.fromSeq; place < length; place++) {
    const [ours, theirs] = [run.events[place] as LoggedEvent, told[place] as LoggedEvent]
    if (saysTheSame(ours, theirs)) continue
    if (isOwnEnd(run.events.slice(place))) return []
    return [[`the source says ${theirs.type} of ${theirs.node ?? 'the run'} here, or with other words`, ours]]
  }
  const [differs, original] = until < 0 ? [] : [run.events[until + 1], told[until]]
  if (until >= 0 && original === undefined)
    return [['there is nothing in the source that could differ', run.events[until]!]]
  if (run.events[until]?.type === AT_REFUSAL) return []
  return differs !== undefined && original !== undefined && saysTheSame(differs, original)
    ? [['no difference follows', differs]]
    : []
}

/** The replay itself was stopped, or its host gave it up: those events are not in the source. */
function isOwnEnd(tail: readonly LoggedEvent[]): boolean {
  const end = tail.at(-1)
  const given = get(end?.payload.error, 'code') === 'run_quarantined' || end?.type === 'run.cancelled'
  return (
    given && tail.every(event => event === end || CLOSING.includes(event.type)) && TERMINAL.includes(end?.type ?? '')
  )
}

/** What is told of a node that is cut off, and of the agent at work in it. */
const CLOSING: readonly string[] = [
  'node.cancelled',
  'agent.invocation.completed',
  'assay.model.lost',
  'budget.consumed',
  'budget.threshold.crossed',
]

/** Names of the log and its clock rather than of what happened (core §2.1 :diff). */
const ENVELOPE: readonly string[] = [
  'eventId',
  'runId',
  'causationId',
  'correlationId',
  'timestamp',
  'traceparent',
  'tracestate',
  'writtenAt',
  'requestedAt',
  'resolvedAt',
  'decidedAt',
]

const saysTheSame = (a: LoggedEvent, b: LoggedEvent): boolean =>
  a.type === b.type && a.node === b.node && same(withoutEnvelope(a), withoutEnvelope(b))

const withoutEnvelope = ({ payload }: LoggedEvent): unknown =>
  Object.fromEntries(
    Object.entries(payload)
      .filter(([name]) => !ENVELOPE.includes(name))
      .map(([name, value]) => [name, TARGETS.includes(name) ? placeOf(value) : value]),
  )

/** An event id contains the run id, so two runs are compared by the sequence in it. */
const TARGETS: readonly string[] = ['target', 'targetRef']

const placeOf = (value: unknown): unknown => (typeof value === 'string' ? value.replace(/^[^:]+(?=:\d+$)/, '') : value)

function remarkProblems(run: RunLog, fork: CheckedFork, event: LoggedEvent, source: RunLog | undefined): string[] {
  const { sourceRunId, atSequence, originalEventId, replayEventId, divergenceKind } = event.payload
  const next = run.events[event.sequence + 1]
  if (next === undefined) return ['nothing follows that could differ']
  const original = source?.events[event.sequence]
  const problems: string[] = []
  const expect = (name: string, told: unknown, wanted: unknown) => {
    if (told !== wanted) problems.push(`${name} is ${show(told)}, not ${show(wanted)}`)
  }
  expect('sourceRunId', sourceRunId, fork.sourceRunId)
  expect('atSequence', atSequence, event.sequence)
  if (replayEventId !== undefined) expect('replayEventId', replayEventId, next.id)
  if (original === undefined) return problems
  if (originalEventId !== undefined) expect('originalEventId', originalEventId, original.id)
  const alike = original.type === next.type && original.node === next.node
  if (divergenceKind === 'output' && !alike) problems.push('an output differs, but so does the event')
  if (divergenceKind === 'type-mismatch' && alike) problems.push('the event is of the same type')
  return problems
}
