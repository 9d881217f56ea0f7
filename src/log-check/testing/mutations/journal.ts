import {
  all,
  changed,
  type Draft,
  type DraftEvent,
  type DraftRun,
  lost,
  type Mutation,
  mutation,
  ofType,
  repeat,
  type Spot,
  setsField,
  shift,
  spots,
  typeOf,
  uncaused,
} from '../draft.js'
import { STANDING_MUTATIONS } from './standing.js'

type Row = Record<string, unknown>

const MEMORY = ['memory.written', 'assay.memory.forgotten']
const FILES = ['assay.file.written', 'assay.file.removed']
const writes = ofType(...MEMORY, ...FILES)
const puts = ofType('memory.written', 'assay.file.written')
const forgets = ofType('assay.memory.forgotten', 'assay.file.removed')
const reads = ofType('assay.journal.read')
const isAgents = ({ event }: Spot): boolean => event.payload.agentId !== undefined
const isNodes = ({ run, event }: Spot): boolean => typeOf(run, event.nodeId) === 'core.memoryPut'
const isAlone = ({ run }: Spot): boolean => run.row.fork === null
const isReplay = ({ run }: Spot): boolean => run.row.fork?.mode === 'replay'
const isOfReplay = (spot: Spot): boolean => isReplay(spot) && spot.event.sequence >= (spot.run.row.fork?.fromSeq ?? 0)
const workflowOf = ({ events }: DraftRun): unknown => events[0]?.payload.workflowId

const kept = (event: DraftEvent): Row => event.secret as Row
const rowsOf = (event: DraftEvent): string[] => kept(event).rows as string[]
const hasRows = (spot: Spot): boolean => reads(spot) && rowsOf(spot.event).length > 0

/** Changes what an event keeps for the host. */
const keeps = (
  rule: string,
  title: string,
  fits: (spot: Spot, draft: Draft) => boolean,
  field: string,
  value: unknown,
): Mutation =>
  changed(rule, title, fits, event => {
    event.secret = { ...event.secret, [field]: value }
  })

const fieldsOf = (type: string, ...fields: string[]): Mutation[] =>
  fields.map(field =>
    changed('L31a', `${type} without ${field}`, ofType(type), event => {
      delete event.payload[field]
    }),
  )

const structure: readonly Mutation[] = [
  ...fieldsOf('memory.written', 'memoryRef', 'memoryId', 'nodeId'),
  ...fieldsOf('assay.memory.forgotten', 'memoryRef', 'memoryId', 'nodeId'),
  ...fieldsOf('assay.file.written', 'path', 'nodeId'),
  ...fieldsOf('assay.file.removed', 'path', 'nodeId'),
  ...fieldsOf('assay.journal.read', 'nodeId', 'space', 'entries'),
  ...[...MEMORY, ...FILES, 'assay.journal.read'].map(type =>
    setsField('L31b', `${type} with what was written`, ofType(type), 'content', 'the words'),
  ),
  setsField('L31b', 'a write that tells its tags', ofType('memory.written'), 'tags', ['told']),
  setsField('L31f', 'a file whose path is a text', ofType('assay.file.written'), 'path', 'words '.repeat(100)),
]

const origins: readonly Mutation[] = [
  changed('L34', 'a write of a node that never began', writes, event => {
    event.nodeId = 'ghost'
    event.payload.nodeId = 'ghost'
  }),
  mutation('L34', 'a write after its node has ended', all(writes, isNodes), ({ run, event, at }) => {
    shift(run, event, at + 1)
  }),
  mutation('L34', 'a read before its node began', reads, ({ run, event }) => {
    shift(run, event, 1)
  }),
  setsField('L34', 'a write that names another node', writes, 'nodeId', 'other'),
  setsField('L34', 'a write of another agent', all(writes, isAgents), 'agentId', 'local.other'),
  setsField('L34', 'a node’s write in the name of an agent', all(writes, isNodes), 'agentId', 'local.writer'),
  changed('L34', 'an agent’s write in nobody’s name', all(writes, isAgents), event => {
    delete event.payload.agentId
  }),
  uncaused('L34', 'a write out of nothing', writes),
  uncaused('L34', 'a read out of nothing', reads),
  mutation('L34', 'a write of a tool that has failed', all(writes, isAgents), ({ run, event }) => {
    for (const cause of run.events) if (cause.eventId === event.causationId) cause.payload.status = 'error'
  }),
]

const contents: readonly Mutation[] = [
  keeps('L34a', 'a write into another space', writes, 'space', 'elsewhere'),
  keeps('L34a', 'a put that is kept as forgotten', puts, 'op', 'forget'),
  keeps('L34a', 'a write of another entry', writes, 'id', 'another'),
  keeps('L34a', 'a write under another reference', writes, 'ref', 'another'),
  setsField('L34a', 'a write that names another entry', ofType(...MEMORY), 'memoryId', 'another'),
  setsField('L34a', 'a write that names another file', ofType(...FILES), 'path', 'another.md'),
  keeps('L34a', 'a put without content', puts, 'contentId', null),
  keeps('L34a', 'a put without a hash', puts, 'hash', null),
  keeps('L34a', 'a put with a word for a hash', puts, 'hash', 'blue'),
  keeps('L34a', 'content of what is forgotten', forgets, 'contentId', 'left.entry'),
  keeps('L34a', 'tags of what is forgotten', forgets, 'tags', ['left']),
  keeps('L34a', 'a version of an entry of memory', ofType('memory.written'), 'ifMatch', 3),
  keeps('L34a', 'a file with tags', ofType('assay.file.written'), 'tags', ['t']),
]

const starts: readonly Mutation[] = [
  changed('L34b', 'a write under a start that is none', writes, event => {
    event.secret = { ...event.secret, since: Number(kept(event).since) + 1 }
  }),
  changed(
    'L34b',
    'a write under the start before the work was sent back',
    spot => writes(spot) && spot.run.events[Number(kept(spot.event).since)]?.type === 'assay.rework.began',
    event => {
      event.secret = { ...event.secret, since: 1 }
    },
  ),
  keeps('L34c', 'a write into another’s scope', writes, 'scope', 'theirs'),
  mutation('L34c', 'a write of a run without memory', all(ofType(...MEMORY), isAlone), ({ run }) => {
    delete (run.events[0]!.secret!.journal as Row).memory
  }),
  mutation('L34c', 'a write of a run without a workspace', all(ofType(...FILES), isAlone), ({ run }) => {
    delete (run.events[0]!.secret!.journal as Row).workspace
  }),
  mutation(
    'L34c',
    'a read of a run without memory',
    all(reads, isAlone, ({ event }) => event.payload.space === 'memory'),
    ({ run }) => {
      delete (run.events[0]!.secret!.journal as Row).memory
    },
  ),
  changed('L34d', 'an entry that has expired already', puts, event => {
    event.secret = { ...event.secret, expiresAt: event.at }
  }),
  changed('L34d', 'a file that expires', ofType(...FILES), event => {
    event.secret = { ...event.secret, expiresAt: event.at + 1_000 }
  }),
  changed(
    'L34d',
    'an entry that holds longer than its node says',
    spot => isNodes(spot) && writes(spot) && isAlone(spot) && kept(spot.event).expiresAt !== null,
    event => {
      event.secret = { ...event.secret, expiresAt: Number(kept(event).expiresAt) + 1 }
    },
  ),
  changed(
    'L34d',
    'an entry that expires, and its node does not say so',
    spot => isNodes(spot) && writes(spot) && isAlone(spot) && kept(spot.event).expiresAt === null,
    event => {
      event.secret = { ...event.secret, expiresAt: event.at + 60_000 }
    },
  ),
]

/** Puts another name in the place of the first that was read. */
const names = (rule: string, title: string, other: (spot: Spot, draft: Draft) => string | undefined): Mutation =>
  mutation(
    rule,
    title,
    (spot, draft) => hasRows(spot) && other(spot, draft) !== undefined,
    (spot, draft) => {
      const [, ...rest] = rowsOf(spot.event)
      spot.event.secret = { ...spot.event.secret, rows: [other(spot, draft), ...rest] }
    },
  )

const nameOf = (spot: Spot | undefined): string | undefined => spot && `${spot.run.runId}:${spot.event.sequence}`

/** A write of some workflow that a read of another run could name. */
const written = (draft: Draft, reader: Spot, workflowId: string, fits: (spot: Spot) => boolean = () => true) =>
  spots(
    draft,
    spot =>
      puts(spot) &&
      isAlone(spot) &&
      spot.run !== reader.run &&
      workflowOf(spot.run) === workflowId &&
      kept(spot.event).space === reader.event.payload.space &&
      spot.event.at < reader.event.at &&
      fits(spot),
  )[0]

const readings: readonly Mutation[] = [
  changed('L34e', 'a read of more than it names', reads, event => {
    event.payload.entries = Number(event.payload.entries) + 1
  }),
  changed('L34e', 'a read that names one twice', hasRows, event => {
    event.secret = { ...event.secret, rows: [...rowsOf(event), rowsOf(event)[0]] }
    event.payload.entries = Number(event.payload.entries) + 1
  }),
  keeps('L34e', 'a read that names nothing', reads, 'rows', ['something']),
  names('L34f', 'a read of what is no entry', ({ run }) => `${run.runId}:0`),
  names('L34f', 'a read of another tenant’s entry', () => 'tenant:mallory:1'),
  names('L34f', 'a read of an entry of the other space', ({ event }, draft) =>
    nameOf(spots(draft, spot => puts(spot) && kept(spot.event).space !== event.payload.space)[0]),
  ),
  names('L34f', 'a read of what was written later', (reader, draft) =>
    nameOf(
      spots(draft, spot => {
        const { event } = reader
        return puts(spot) && spot.event.at > event.at && kept(spot.event).space === event.payload.space
      })[0],
    ),
  ),
  names('L34f', 'a read of what the node itself wrote', ({ run, event, at }) =>
    nameOf(
      run.events
        .slice(0, at)
        .map((other, place) => ({ run, event: other, at: place }))
        .filter(spot => puts(spot) && spot.event.nodeId === event.nodeId)
        .findLast(spot => kept(spot.event).space === event.payload.space),
    ),
  ),
  mutation(
    'L34f',
    'a read of a run of another tenant',
    (spot, draft) => hasRows(spot) && writerIn(spot, draft) !== undefined,
    (spot, draft) => {
      writerIn(spot, draft)!.tenant = 'mallory'
    },
  ),
  names('L34g', 'a read of what a gate has rejected', (reader, draft) => nameOf(written(draft, reader, 'rejected'))),
  names('L34g', 'a read of what was written before it was sent back', (reader, draft) =>
    nameOf(written(draft, reader, 'reworked', ({ run, event }) => kept(event).since === 1 && !isForked(run, draft))),
  ),
  mutation(
    'L34g',
    'a read of what waits before the exit of a run that did not complete',
    (spot, draft) => hasRows(spot) && written(draft, spot, 'left') !== undefined,
    (spot, draft) => {
      const held = written(draft, spot, 'left')!
      spot.event.secret = { ...spot.event.secret, rows: [nameOf(held), ...rowsOf(spot.event).slice(1)] }
      held.run.events.at(-1)!.type = 'run.failed'
    },
  ),
  mutation(
    'L34g',
    'a read of what a worker wrote and nobody has merged',
    (spot, draft) => hasRows(spot) && written(draft, spot, 'texting') !== undefined,
    (spot, draft) => {
      const held = written(draft, spot, 'texting')!
      spot.event.secret = { ...spot.event.secret, rows: [nameOf(held), ...rowsOf(spot.event).slice(1)] }
      for (const { events } of draft.runs)
        for (const event of events)
          if (event.payload.phase === 'output.harvested' && event.payload.childRunId === held.run.runId)
            event.payload.phase = 'child.completed'
    },
  ),
]

/** In a fork the gate may have passed at once what it sent back here. */
const isForked = ({ runId }: DraftRun, draft: Draft): boolean =>
  draft.runs.some(
    run => run.row.fork?.sourceRunId === runId && (run.row.fork.mode === 'branch' || isForked(run, draft)),
  )

const writerIn = ({ run, event }: Spot, draft: Draft): DraftRun | undefined => {
  const named = rowsOf(event).map(row => row.replace(/:\d+$/, ''))
  return draft.runs.find(other => other !== run && named.includes(other.runId))
}

const isJudged = ({ event }: Spot): boolean => event.type === 'node.completed' && event.secret?.since !== undefined

const retellings: readonly Mutation[] = [
  changed('L34m', 'a replay that gives an entry another id', all(ofType(...MEMORY), isOfReplay), event => {
    event.payload.memoryId = 'anew'
    event.secret = { ...event.secret, id: 'anew' }
  }),
  keeps('L34m', 'a replay that writes other words', all(puts, isOfReplay), 'hash', 'e'.repeat(64)),
  keeps('L34m', 'a replay that writes into a scope of its own', all(writes, isOfReplay), 'scope', 'own'),
  keeps('L34m', 'a replay that has read something else', all(reads, isOfReplay), 'digest', 'e'.repeat(64)),
  mutation('L34m', 'a replay that writes once more', all(writes, isOfReplay), ({ run, event, at }) => {
    repeat(run, event, at + 1).secret = event.secret as Row
  }),
  changed('L34n', 'a merge that does not say of which work', isJudged, event => {
    delete kept(event).since
  }),
  changed('L34n', 'a merge of other work', isJudged, event => {
    event.secret = { ...event.secret, since: Number(kept(event).since) + 1 }
  }),
  changed(
    'L34n',
    'a merge of what no gate has held',
    spot => ofType('node.completed')(spot) && spot.event.secret === undefined && isAlone(spot),
    event => {
      event.secret = { since: 1 }
    },
  ),
  lost('L34n', 'a merge of what was never put to a gate', ({ event }) => {
    return event.type === 'assay.result.staged' && event.payload.point === 'node'
  }),
]

/** Of logs whose runs write down and read. */
export const JOURNAL_MUTATIONS: readonly Mutation[] = [
  ...structure,
  ...origins,
  ...contents,
  ...starts,
  ...readings,
  ...STANDING_MUTATIONS,
  ...retellings,
]
