import { eachRun, isBefore, isRetold, type Log, type LoggedEvent, type Rule, type RunLog } from '../checked.js'
import { sourceOf } from '../fork/forks.js'
import { get, number, same, show, text } from '../json.js'
import { SUPERVISOR } from '../node/node-attempts.js'
import {
  anchorsOf,
  isJournal,
  judges,
  type Place,
  type Places,
  placesBefore,
  placesToldBy,
  SPACES,
  type Space,
  startOfWork,
  viewAt,
} from './places.js'

/** Where runs stand in memory and workspace. */
export const standingRules: readonly Rule[] = [
  {
    id: 'L34h',
    title:
      'A run tells the scope of its memory as it has it; one that is nobody’s child or fork sees nothing but its scope, and the workspace of its tenant is one scope',
    source: 'agents R-MEM-19, R-WS-3, design/journal',
    assayOnly: true,
    checks: eachRun((run, say) => {
      const first = run.events[0]
      const places = first && placesToldBy(first)
      if (first === undefined || places === undefined || run.started.memoryScope !== places.memory?.scope) {
        if (places !== undefined) say(`memoryScope is ${show(run.started.memoryScope)}`, first)
        return
      }
      const isRoot = text(run.started.parentRunId) === undefined && run.fork === null
      for (const space of isRoot ? SPACES : []) {
        const place = places[space]
        if (place && (place.runs.length > 0 || place.beneath.length > 0 || !(place.upTo >= 0)))
          say(`its ${space} is not all there is`, first)
      }
      if (isRoot && places.workspace && places.workspace.scope !== '') say('a workspace apart', first)
    }),
  },
  {
    id: 'L34i',
    title:
      'A child stands where its parent did when it was handed over, and sees what that had written by then; one that is isolated has a memory of its own',
    source: 'agents R-MEM-2, R-MEM-3, R-WS-3',
    assayOnly: true,
    checks: eachRun((run, say, log) => {
      for (const event of run.events) {
        if (event.type !== 'node.dispatched' || isRetold(run, event)) continue
        const child = log.byId.get(String(event.payload.childRunId))
        const places = child?.events[0] && placesToldBy(child.events[0])
        if (child === undefined || places === undefined) continue
        for (const space of SPACES)
          if (!isInherited(run, event, child, space, places)) say(`${child.run.runId} has another ${space}`, event)
      }
    }),
  },
  {
    id: 'L34j',
    title: 'A branch has a memory and a workspace of its own, over what its source saw at the cut',
    source: 'agents R-MEM-8, design/journal',
    assayOnly: true,
    checks: eachRun((run, say, log) => {
      if (run.fork?.mode !== 'branch' || isBefore(run, 6)) return
      const { fromSeq } = run.fork
      const told = run.events[fromSeq]
      const isCut = fromSeq === 0 || told?.type === 'assay.run.forked'
      const seen =
        fromSeq === 0 ? sourceStart(run, log) : { places: placesBefore(run)[fromSeq], at: run.events[fromSeq - 1]?.at }
      if (told === undefined || !isCut || seen?.places === undefined || Object.keys(seen.places).length === 0) return
      const places = placesToldBy(told) ?? {}
      for (const space of SPACES)
        if (!isBranched(run, log, seen.places[space], places[space], seen.at ?? 0)) say(`another ${space}`, told)
    }),
  },
  {
    id: 'L34k',
    title:
      'A turn of an orchestrator that is an agent says how far the scopes have come that it reads, and never less than before; nobody else reads further than at the start',
    source: 'agents R-MEM-6, R-STATE-5, design/journal',
    assayOnly: true,
    checks: eachRun((run, say) => {
      for (const event of run.events) {
        if (event.type !== 'agent.invocation.started' || event.raw.secret === undefined) continue
        const places = placesBefore(run)[event.sequence] ?? {}
        const turn = startOfWork(run).get(event)?.payload.typeId === SUPERVISOR
        const anchors = anchorsOf(event) ?? {}
        for (const space of SPACES) {
          const [anchor, place] = [number(anchors[space]), places[space]]
          if ((anchor !== undefined) !== (turn && place !== undefined)) say(`${space} up to ${show(anchor)}`, event)
          else if (anchor !== undefined && place !== undefined && anchor < place.upTo)
            say(`${space} up to ${anchor} after ${place.upTo}`, event)
        }
      }
    }),
  },
  {
    id: 'L34l',
    title: 'The run of a verifier, or of a trial, has no memory and no workspace: it reads and writes nothing',
    source: 'agents R-DWS-7, design/journal',
    assayOnly: true,
    checks: eachRun((run, say) => {
      if (!judges(run)) return
      for (const event of run.events)
        if (isJournal(event) || placesToldBy(event) !== undefined || event.payload.memoryScope !== undefined)
          say('who judges has no such place', event)
    }),
  },
]

function isInherited(run: RunLog, event: LoggedEvent, child: RunLog, space: Space, places: Places): boolean {
  const [own, parents] = [places[space], placesBefore(run)[event.sequence]?.[space]]
  if (own === undefined || parents === undefined) return own === undefined
  const inherited = { ...parents, runs: [{ runId: run.run.runId, before: event.sequence }, ...parents.runs] }
  const apart = { scope: `run:${child.run.runId}`, upTo: 0, runs: [], beneath: [] }
  const isolation = get(run.graph?.nodes.get(event.node ?? '')?.config, 'memoryScopeIsolation')
  const may = space === 'memory' && isolation === 'isolated' ? [apart] : [inherited]
  return [...may, ...(space === 'memory' && run.graph === undefined ? [apart] : [])].some(place => same(own, place))
}

const sourceStart = (run: RunLog, log: Log): { places: Places | undefined; at: number | undefined } => {
  const first = sourceOf(run, log)?.events[0]
  return { places: first && placesToldBy(first), at: first?.at }
}

type Written = { readonly runId: string; readonly before: number }

/**
 * Who wrote what is told before the cut, and up to where: a replay wrote nothing and knows no more of its source than there
 * was when it was made, and what is shared another one wrote.
 */
function writerOf(log: Log, { run, fork }: RunLog, before: number): Written | undefined {
  if (fork === undefined || fork === null) return { runId: run.runId, before }
  if (fork.mode === 'branch' && before > fork.fromSeq) return { runId: run.runId, before }
  const source = log.byId.get(fork.sourceRunId)
  return source && writerOf(log, source, Math.min(before, fork.sourceLength))
}

function isBranched(run: RunLog, log: Log, seen: Place | undefined, own: Place | undefined, at: number): boolean {
  if (seen === undefined || own === undefined) return seen === own
  const fromSeq = run.fork?.fromSeq ?? 0
  const source = sourceOf(run, log)
  const writer = source && writerOf(log, source, fromSeq)
  const beneath = viewAt(seen, writer?.runId ?? '', writer?.before ?? fromSeq, at)
  return (
    own.scope === `fork:${run.run.runId}` &&
    own.upTo === 0 &&
    own.runs.length === 0 &&
    (writer === undefined || same(own.beneath, beneath))
  )
}
