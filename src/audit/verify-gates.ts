import { setImmediate } from 'node:timers/promises'
import type { RunStarted, RunStartedSecret } from '../core/run/events.js'
import type { WorkflowDefinition } from '../core/workflow/definition.js'
import { coreNodeTypes } from '../core/workflow/nodes/registry.js'
import { type GatedPoint, type StoredEvent, UnverifiedMerge } from '../engine/ports/event-log.js'
import type { GateRows } from '../engine/ports/gate-rows.js'
import type { RunRow } from '../engine/ports/run-index.js'
import type { Store } from '../engine/ports/store.js'
import { gatedPoints } from '../engine/runtime/gated-points.js'
import { GATE_EVENTS, gateRowsAfter, NO_GATE_ROWS } from '../store/gate-rules.js'

export type GateAnomaly = {
  readonly kind: 'gate-row-missing' | 'gate-row-changed' | 'gate-row-extra' | 'merge-unverified' | 'definition-missing'
  readonly sequence?: number
  readonly message: string
}

export type GateStore = Pick<Store, 'readEvents' | 'readGateRows' | 'getDefinition'>

const PAGE = 1000

/**
 * Recomputes what a store keeps to hold S10 by from the first `length` events of a log, which must be intact, and
 * compares. A row that was put there, changed or taken away would have the store refuse too little or too much from
 * then on, and no hash of any event shows it.
 */
export async function verifyGateRows(store: GateStore, row: RunRow, length: number): Promise<GateAnomaly[]> {
  const [first] = await store.readEvents(row.runId, 0, 1)
  if (first === undefined) return []
  const kept = upTo(length, await store.readGateRows(row.runId))
  const started = startOf(first)
  // Most runs have neither gates nor rows, and their logs need not be read again.
  if (started === undefined && TABLES.every(table => kept[table].length === 0)) return []
  const gated = started ? await pointsOf(store, row, started) : []
  if (gated === undefined)
    return [{ kind: 'definition-missing', message: `definition ${row.workflowDigest}, which the run follows, is gone` }]
  const { rows, refused } = await recomputed(store, row, length, gated)
  return [...TABLES.flatMap(table => difference(table, rows[table], kept[table])), ...refused]
}

type Started = { readonly payload: RunStarted; readonly gates: NonNullable<RunStartedSecret['gates']> }

/** How a run with gates was started. */
function startOf({ type, payload, secret }: StoredEvent): Started | undefined {
  if (type !== 'run.started' || secret === null) return undefined
  const { gates = [] } = JSON.parse(secret) as RunStartedSecret
  return gates.length === 0 ? undefined : { payload: JSON.parse(payload) as RunStarted, gates }
}

async function pointsOf(
  store: GateStore,
  { workflowDigest }: RunRow,
  { payload, gates }: Started,
): Promise<GatedPoint[] | undefined> {
  const text = await store.getDefinition(workflowDigest)
  if (text === undefined) return undefined
  const { nodes } = JSON.parse(text) as WorkflowDefinition
  const handing = new Set(nodes.filter(({ typeId }) => HANDING.has(typeId)).map(({ id }) => id))
  return gatedPoints(nodeId => handing.has(nodeId), gates, payload)
}

const HANDING: ReadonlySet<string> = new Set(coreNodeTypes.filter(({ hands }) => hands).map(({ typeId }) => typeId))

async function recomputed(store: GateStore, row: RunRow, length: number, gated: readonly GatedPoint[]) {
  const own = row.fork?.fromSeq ?? 0
  let rows: GateRows = { ...NO_GATE_ROWS, gated }
  for (let next = 0; next < length; ) {
    const page = await store.readEvents(row.runId, next, Math.min(PAGE, length - next))
    for (const event of page.filter(({ type }) => GATE_EVENTS.has(type))) {
      try {
        rows = gateRowsAfter(rows, event.sequence < own ? null : row.tenant, event)
      } catch (error) {
        if (!(error instanceof UnverifiedMerge)) throw error
        const message = `event ${event.sequence} should have been refused: ${error.message}`
        return { rows, refused: [{ kind: 'merge-unverified' as const, sequence: event.sequence, message }] }
      }
    }
    if (page.length === 0) break
    next += page.length
    // An embedded store answers without leaving this thread; everything else it serves must get its turn.
    await setImmediate()
  }
  return { rows, refused: [] }
}

const TABLES = ['gated', 'staged', 'verdicts', 'merges'] as const

type Table = (typeof TABLES)[number]
type Row = GateRows[Table][number]

/** A run may have grown since its row was read. */
const upTo = (length: number, { gated, ...others }: GateRows): GateRows => {
  const isKnown = ({ sequence }: { readonly sequence: number }): boolean => sequence < length
  return {
    gated,
    staged: others.staged.filter(isKnown),
    verdicts: others.verdicts.filter(isKnown),
    merges: others.merges.filter(isKnown),
  }
}

function difference(table: Table, expected: readonly Row[], kept: readonly Row[]): GateAnomaly[] {
  const [wanted, found] = [byKey(expected), byKey(kept)]
  const about = (kind: GateAnomaly['kind'], row: Row, what: string): GateAnomaly => ({
    kind,
    ...('sequence' in row ? { sequence: row.sequence } : {}),
    message: `table ${table}: the row of ${nameOf(row)} ${what}`,
  })
  const lost = [...wanted].flatMap(([key, row]) => {
    const other = found.get(key)
    if (other === undefined) return [about('gate-row-missing', row, 'is missing')]
    return sameFields(row, other) ? [] : [about('gate-row-changed', row, 'was changed')]
  })
  const added = [...found].flatMap(([key, row]) => (wanted.has(key) ? [] : [about('gate-row-extra', row, 'was added')]))
  return [...lost, ...added]
}

const byKey = (rows: readonly Row[]): Map<string, Row> =>
  new Map(
    rows.map(row => [
      'sequence' in row
        ? `${row.sequence} ${row.gateId}`
        : JSON.stringify([row.point, row.nodeId, row.gateId, row.workerId]),
      row,
    ]),
  )

/** What a reader can look up: the event that the row follows from, or where the gate stands. */
const nameOf = (row: Row): string =>
  'sequence' in row
    ? `event ${row.sequence}, gate "${row.gateId}",`
    : `gate "${row.gateId}" at node "${row.nodeId}" (${row.point})`

const sameFields = (one: object, other: object): boolean =>
  Object.entries(one).every(([name, value]) => value === (other as { readonly [name: string]: unknown })[name])
