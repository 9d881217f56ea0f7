import { hash } from 'node:crypto'
import canonicalize from 'canonicalize'
import pg from 'pg'
import type { BoundGate } from '../../../src/core/verification/gate.js'
import type { WorkflowDefinition } from '../../../src/core/workflow/definition.js'
import type { CheckedRun } from '../../../src/log-check/checked.js'
import { Connection } from '../../../src/store/sqlite/connection.js'
import { storedRuns } from '../../support/stored-runs.js'

/**
 * Whether everything that was merged past a gate had a pass over exactly what was merged: by the log, in which the gates
 * of a run are pinned, and by the rows that the store keeps for itself.
 */
export type Audit = { readonly merges: number; readonly problems: readonly string[] }

type Row = {
  readonly run_id: string
  readonly seq: number
  readonly gate_id: string
  readonly target: string
  readonly result_hash: string
}
type Tables = {
  readonly staged: readonly Row[]
  readonly verdicts: readonly (Row & { readonly verdict: string })[]
  readonly merges: readonly (Row & { readonly staged_seq: number; readonly verdict_seq: number })[]
}

const COLUMNS = 'run_id, seq, gate_id, target, result_hash'
const QUERIES = {
  staged: `SELECT ${COLUMNS} FROM staged ORDER BY run_id, seq`,
  verdicts: `SELECT ${COLUMNS}, verdict FROM verdicts ORDER BY run_id, seq`,
  merges: `SELECT ${COLUMNS}, staged_seq, verdict_seq FROM merges ORDER BY run_id, seq`,
}

export async function auditMerges(database: string): Promise<Audit> {
  const tables = await tablesOf(database)
  const merged = (await storedRuns(database)).flatMap(mergesIn)
  return { merges: merged.length, problems: merged.flatMap(one => problemsOf(one, tables)) }
}

async function tablesOf(database: string): Promise<Tables> {
  if (database.startsWith('sqlite:')) {
    const db = new Connection(database.slice('sqlite:'.length), 10_000, [])
    try {
      return await read(async sql => db.all(sql))
    } finally {
      db.close()
    }
  }
  const client = new pg.Client({ connectionString: database, options: '-c search_path=assay' })
  await client.connect()
  try {
    return await read(async sql => (await client.query(sql)).rows)
  } finally {
    await client.end()
  }
}

async function read(query: (sql: string) => Promise<readonly unknown[]>): Promise<Tables> {
  const found: [string, unknown[]][] = []
  for (const [table, sql] of Object.entries(QUERIES)) found.push([table, (await query(sql)).map(inNumbers)])
  return Object.fromEntries(found) as unknown as Tables
}

/** PostgreSQL tells large integers as text. */
const inNumbers = (row: unknown): unknown =>
  Object.fromEntries(
    Object.entries(row as object).map(([name, value]) => [name, name.endsWith('seq') ? Number(value) : value]),
  )

type Merge = {
  readonly runId: string
  readonly sequence: number
  readonly type: string
  readonly gateId: string
  /** Of what was merged, computed anew. */
  readonly hash: string
}

type Event = CheckedRun['events'][number]
type Told = {
  readonly phase?: string
  readonly childRunId?: string
  readonly workerId?: string
  readonly outputs?: unknown
}

const hashOf = (value: unknown): string => `sha256:${hash('sha256', canonicalize(value)!, 'hex')}`

/** Every merge of a run that a blocking gate stood before, once for each gate. */
function mergesIn({ runId, events, definition }: CheckedRun): Merge[] {
  const { gates = [] } = (events[0]?.secret ?? {}) as { readonly gates?: readonly BoundGate[] }
  const blocking = gates.filter(({ gate }) => gate.gate_behaviour.blocking)
  const { nodes } = definition as unknown as WorkflowDefinition
  const agents = nodes.flatMap(({ id, typeId }) => (typeId === 'core.agent' ? [id] : []))
  return events.flatMap(event =>
    blocking
      .filter(({ gate }) => isBefore(gate.position, event, agents))
      .map(({ gate: { gate_id: gateId } }) => ({
        runId,
        sequence: event.sequence,
        type: event.type,
        gateId,
        hash: hashOf(mergedBy(event, events)),
      })),
  )
}

/** Agents' results are merged as their node's own; a node that hands work over merges when it harvests. */
function isBefore(
  { placement, phase_id, worker_id }: BoundGate['gate']['position'],
  event: Event,
  agents: readonly string[],
): boolean {
  if (placement === 'workflow_exit') return event.type === 'run.completed'
  if (event.nodeId !== phase_id) return false
  const { phase, workerId } = event.payload as Told
  if (event.type === 'core.workflowChain.event')
    return phase === 'output.harvested' && (worker_id === undefined || worker_id === workerId)
  return event.type === 'node.completed' && agents.includes(phase_id)
}

/** What the worker, the agent or the run had brought when it was merged. */
function mergedBy({ type, payload, nodeId, sequence }: Event, events: readonly Event[]): unknown {
  if (type === 'run.completed') return { outputs: (payload as Told).outputs, variables: leftIn(events) }
  const before = events.slice(0, sequence).filter(event => event.nodeId === nodeId)
  if (type === 'node.completed') {
    const staged = before.findLast(event => event.type === 'assay.result.staged')
    return (staged?.secret as { readonly result?: unknown } | undefined)?.result
  }
  const { childRunId } = payload as Told
  const isIts = (event: Event) => (event.payload as Told).childRunId === childRunId
  const brought = before.findLast(event => (event.payload as Told).phase === 'child.completed' && isIts(event))
  return (brought?.secret as { readonly outputs?: unknown } | undefined)?.outputs
}

/** The variables that a run leaves behind: what it was given, and what has become of it. */
function leftIn(events: readonly Event[]): object {
  const { inputs } = events[0]!.payload as { readonly inputs: object }
  const changes = events.flatMap(({ type, payload }) => {
    const { name, next } = payload as { readonly name?: string; readonly next?: unknown }
    return type === 'variable.changed' ? [[name, next]] : []
  })
  return { ...inputs, ...Object.fromEntries(changes) }
}

function problemsOf({ runId, sequence, type, gateId, hash: merged }: Merge, { merges, staged, verdicts }: Tables) {
  const where = `${runId}:${sequence} ${type} past ${gateId}`
  const isIts = (row: Row) => row.run_id === runId && row.gate_id === gateId
  const row = merges.find(one => isIts(one) && one.seq === sequence)
  if (row === undefined) return [`${where}: no merge is kept`]
  const isSame = (other: Row) => isIts(other) && other.target === row.target && other.result_hash === row.result_hash
  const latest = verdicts.filter(one => isSame(one) && one.seq < sequence).at(-1)
  return [
    ...(row.result_hash === merged ? [] : [`${where}: ${row.result_hash} is kept, ${merged} was merged`]),
    ...(staged.some(one => isSame(one) && one.seq === row.staged_seq) ? [] : [`${where}: nothing was staged`]),
    ...(latest?.seq === row.verdict_seq && latest.verdict === 'pass'
      ? []
      : [`${where}: ${latest?.verdict} is its verdict`]),
    ...(row.staged_seq < row.verdict_seq && row.verdict_seq < sequence ? [] : [`${where}: in the wrong order`]),
  ]
}
