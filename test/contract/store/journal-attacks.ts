import type { GatedPoint, StoredEvent } from '../../../src/engine/ports/event-log.js'
import type { Store } from '../../../src/engine/ports/store.js'
import * as f from './fixtures.js'
import { harvest, type Loose, merge } from './gate-fixtures.js'
import * as j from './journal-fixtures.js'

/** Whoever writes to the database past the store: an event as a row, without any of the store's own checks. */
export type Raw = { readonly insert: (runId: string, event: StoredEvent) => Promise<void> }

/** An event that must be refused, or must publish nothing, with what is in the run before it. */
type JournalAttack = {
  readonly what: string
  readonly gated?: readonly GatedPoint[]
  /** What is written before by a child of the run, or by itself. */
  readonly by: 'run' | 'child'
  readonly event: (names: { readonly childId: string }) => Loose
  readonly refused: boolean
}

export const JOURNAL_ATTACKS: readonly JournalAttack[] = [
  { what: 'a write without content', by: 'run', event: () => j.wrote(j.content('x')), refused: true },
  {
    what: 'a completion of a node whose gate has passed nothing',
    gated: [j.gate('node')],
    by: 'run',
    event: () => j.completedNode(1, 'n1', 'h'),
    refused: true,
  },
  {
    what: 'a harvest that no gate has passed',
    gated: [j.gate('harvest')],
    by: 'child',
    event: ({ childId }) => harvest({ workerId: 'wf', childRunId: childId }),
    refused: true,
  },
  {
    what: 'the end of a run whose gate at the exit has passed nothing',
    gated: [j.gate('run')],
    by: 'run',
    event: () => merge('run'),
    refused: true,
  },
  {
    what: 'a child that is said to have completed, where a gate holds it',
    gated: [j.gate('harvest')],
    by: 'child',
    event: ({ childId }) => j.chained('child.completed', childId),
    refused: false,
  },
  {
    what: 'a harvest that names another worker than the child is',
    gated: [j.gate('harvest', { workerId: 'wf' })],
    by: 'child',
    event: ({ childId }) => harvest({ workerId: 'someone else', childRunId: childId }),
    refused: false,
  },
]

/** Tries one; answers whether it was refused, and how much is published then. */
export async function tryAttack(store: Store, raw: Raw, { gated = [], by, event }: JournalAttack) {
  const side = await j.journaling(store)
  const scope = f.id('scope')
  const runId = await side.start({ gated })
  const childId = await side.start({ parentRunId: runId, parentNodeId: 'n1' })
  if (gated.length > 0) await side.put(by === 'run' ? runId : childId, 'held', { scope })
  const { length } = (await store.readRun(null, runId))!
  const refused = await raw.insert(runId, event({ childId })(length)).then(
    () => false,
    () => true,
  )
  return { refused, published: (await store.heads('acme', scope)).memory }
}
