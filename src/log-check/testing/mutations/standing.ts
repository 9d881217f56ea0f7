import {
  all,
  changed,
  type Draft,
  type DraftEvent,
  type DraftRun,
  insert,
  type Mutation,
  mutation,
  ofType,
  runMutation,
  type Spot,
} from '../draft.js'

type Row = Record<string, unknown>

const isAlone = ({ run }: Spot): boolean => run.row.fork === null
const workflowOf = ({ events }: DraftRun): unknown => events[0]?.payload.workflowId
const kept = (event: DraftEvent): Row => event.secret as Row

const placeIn = (event: DraftEvent | undefined, space: string): Row | undefined =>
  ((event?.secret?.journal ?? {}) as Row)[space] as Row | undefined

const begins = (event: DraftEvent | undefined): boolean => event?.secret?.journal !== undefined
const isRoot = (run: DraftRun): boolean =>
  begins(run.events[0]) && run.row.parentRunId === null && run.row.fork === null
const isChild = (run: DraftRun): boolean => begins(run.events[0]) && run.row.parentRunId !== null
const isApart = (run: DraftRun): boolean => run.events[0]?.payload.memoryScope === `run:${run.runId}`

/** Changes where a run stands at its start. */
const stands = (
  rule: string,
  title: string,
  fits: (run: DraftRun) => boolean,
  space: 'memory' | 'workspace',
  place: (before: Row, run: DraftRun) => Row,
): Mutation =>
  runMutation(
    rule,
    title,
    run => fits(run) && placeIn(run.events[0], space) !== undefined,
    run => {
      const journal = run.events[0]!.secret!.journal as Row
      const changed = place(journal[space] as Row, run)
      journal[space] = { ...(journal[space] as Row), ...changed }
      if (space === 'memory') run.events[0]!.payload.memoryScope = (journal.memory as Row).scope
    },
  )

/** Changes where a branch stands from its cut on. */
const branches = (title: string, place: (before: Row) => Row, space: 'memory' | 'workspace' = 'memory'): Mutation =>
  mutation(
    'L34j',
    title,
    ({ run, event }) =>
      run.row.fork?.mode === 'branch' && event.sequence === run.row.fork.fromSeq && placeIn(event, space) !== undefined,
    ({ event }) => {
      const journal = event.secret!.journal as Row
      journal[space] = { ...(journal[space] as Row), ...place(journal[space] as Row) }
    },
  )

const lower = (reach: unknown, change: Row): Row => ({ ...(reach as Row), ...change })

const standing: readonly Mutation[] = [
  runMutation('L34h', 'a memory that is told to be elsewhere', isRoot, run => {
    run.events[0]!.payload.memoryScope = 'elsewhere'
  }),
  runMutation('L34h', 'a memory that is not told', isRoot, run => {
    delete run.events[0]!.payload.memoryScope
  }),
  stands('L34h', 'a run that sees what another wrote', isRoot, 'memory', () => ({ runs: [{ runId: 'x', before: 3 }] })),
  stands('L34h', 'a run with something beneath', isRoot, 'memory', () => ({ beneath: [{ scope: 'theirs' }] })),
  stands('L34h', 'a workspace of its own', isRoot, 'workspace', (_before, { runId }) => ({ scope: `run:${runId}` })),
  stands('L34i', 'a child that reads further than its parent', isChild, 'workspace', ({ upTo }) => ({
    upTo: Number(upTo) + 1,
  })),
  stands('L34i', 'a child that does not see what its parent wrote', isChild, 'workspace', () => ({ runs: [] })),
  stands('L34i', 'a child that sees what its parent wrote later', isChild, 'workspace', ({ runs }) => ({
    runs: [{ ...(runs as Row[])[0], before: 9_999 }],
  })),
  stands('L34i', 'a child in another’s memory', isChild, 'memory', () => ({ scope: 'theirs' })),
  stands('L34i', 'a child in another’s workspace', isChild, 'workspace', () => ({ scope: 'theirs' })),
  runMutation(
    'L34i',
    'an isolated child, and nobody said so',
    run => isChild(run) && isApart(run),
    (run, draft) => {
      const parent = draft.runs.find(({ runId }) => runId === run.row.parentRunId)
      for (const node of parent?.definition.nodes ?? []) delete node.config.memoryScopeIsolation
    },
  ),
  runMutation(
    'L34i',
    'a child that shares its parent’s memory, and was to have its own',
    (run, draft) => isChild(run) && !isApart(run) && parentOf(run, draft)?.row.fork === null,
    (run, draft) => {
      for (const node of parentOf(run, draft)?.definition.nodes ?? []) node.config.memoryScopeIsolation = 'isolated'
    },
  ),
  branches('a branch in its source’s memory', () => ({ scope: 'team' })),
  branches('a branch in the workspace of all', () => ({ scope: '' }), 'workspace'),
  branches('a branch that reads what came later', () => ({ upTo: 5 })),
  branches('a branch without what its source saw', () => ({ beneath: [] })),
  branches('a branch that sees what its source wrote after the cut', ({ beneath }) => {
    const [reach, ...rest] = beneath as Row[]
    const [own, ...others] = reach!.runs as Row[]
    return { beneath: [lower(reach, { runs: [lower(own, { before: 9_999 }), ...others] }), ...rest] }
  }),
  branches('a branch of what another wrote', ({ beneath }) => {
    const [reach, ...rest] = beneath as Row[]
    const [own, ...others] = reach!.runs as Row[]
    return { beneath: [lower(reach, { runs: [lower(own, { runId: 'run-other' }), ...others] }), ...rest] }
  }),
  branches('a branch that reads its source’s scope further', ({ beneath }) => {
    const [reach, ...rest] = beneath as Row[]
    return { beneath: [lower(reach, { upTo: Number(reach!.upTo) + 1 }), ...rest] }
  }),
  branches('a branch to which other entries have expired', ({ beneath }) => {
    const [reach, ...rest] = beneath as Row[]
    return { beneath: [lower(reach, { at: Number(reach!.at) + 1 }), ...rest] }
  }),
  mutation(
    'L34j',
    'a branch that stands nowhere',
    ({ run, event }) => event.type === 'assay.run.forked' && begins(event) && event.sequence === run.row.fork?.fromSeq,
    ({ event }) => {
      delete event.secret!.journal
    },
  ),
]

const parentOf = (run: DraftRun, draft: Draft): DraftRun | undefined =>
  draft.runs.find(({ runId }) => runId === run.row.parentRunId)

const invoked = ofType('agent.invocation.started')
const isTurn = (spot: Spot): boolean => invoked(spot) && spot.event.secret?.anchors !== undefined
const judged = (run: DraftRun): boolean => workflowOf(run) === 'assay-verifier'

const turns: readonly Mutation[] = [
  changed('L34k', 'a turn that reads less than the one before', all(isTurn, isAlone), event => {
    event.secret = { ...event.secret, anchors: { ...(kept(event).anchors as Row), workspace: -1 } }
  }),
  changed('L34k', 'a turn that does not say how far it reads', isTurn, event => {
    delete kept(event).anchors
  }),
  changed('L34k', 'a turn that does not say how far it reads files', isTurn, event => {
    delete (kept(event).anchors as Row).workspace
  }),
  changed(
    'L34k',
    'an agent that reads further, and leads nobody',
    all(invoked, spot => !isTurn(spot)),
    event => {
      event.secret = { ...event.secret, anchors: { memory: 9, workspace: 99 } }
    },
  ),
  runMutation('L34l', 'a verifier with a memory', judged, run => {
    run.events[0]!.payload.memoryScope = 'team'
  }),
  runMutation('L34l', 'a verifier with a workspace', judged, run => {
    const workspace = { scope: '', upTo: 0, runs: [], beneath: [] }
    run.events[0]!.secret = { ...run.events[0]!.secret, journal: { workspace } }
  }),
  runMutation('L34l', 'a verifier that reads', judged, run => {
    insert(run, 3, 'assay.journal.read', 'verify', { nodeId: 'verify', space: 'memory', entries: 0 })
  }),
  runMutation('L34l', 'a verifier that writes', judged, run => {
    insert(run, 3, 'memory.written', 'verify', { memoryRef: 'r', memoryId: 'm', nodeId: 'verify' })
  }),
]

/** Of where runs stand in memory and workspace. */
export const STANDING_MUTATIONS: readonly Mutation[] = [...standing, ...turns]
