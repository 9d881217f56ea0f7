import path from 'node:path'
import { expect, test } from 'vitest'
import type { Plan } from '../../src/core/workflow/plan.js'
import { SNAPSHOT_SCHEMA } from '../../src/engine/log/snapshot.js'
import { readHistories, runsOf } from './history.js'
import { planOf, statesOf } from './snapshots.js'

/** Every path in a value, places in lists left out. */
function pathsOf(value: unknown, at: string, into: Set<string>): void {
  if (Array.isArray(value)) for (const item of value) pathsOf(item, `${at}[]`, into)
  else if (typeof value === 'object' && value !== null)
    for (const [key, inner] of Object.entries(value)) pathsOf(inner, `${at}.${key}`, into)
  else into.add(`${at}: ${value === null ? 'null' : typeof value}`)
}

/**
 * When this fails, the shape of the folded state has changed: raise SNAPSHOT_SCHEMA, delete the old file, run once with
 * `-u`. When only a history was added, `-u` is enough.
 */
test('a kept state has the shape that SNAPSHOT_SCHEMA names', async () => {
  const paths = new Set<string>()
  for (const history of readHistories().values())
    for (const run of runsOf(history))
      for (const state of statesOf(history, run)) pathsOf(JSON.parse(JSON.stringify(state)), state.phase, paths)
  const file = path.join(import.meta.dirname, `state-shape.v${SNAPSHOT_SCHEMA}.txt`)
  await expect(`${[...paths].sort().join('\n')}\n`).toMatchFileSnapshot(file)
})

/** Of a node's settings the fold may go by this one alone, which no branch can change (`core/replay/change-limits.ts`, C1). */
const withoutSettings = (plan: Plan): Plan => ({
  ...plan,
  nodes: plan.nodes.map(planNode => {
    const { outputAttestation } = planNode.node.config
    const config = outputAttestation === undefined ? {} : { outputAttestation }
    return { ...planNode, node: { ...planNode.node, config } }
  }),
})

test('R-FORK-5 C1: a log folds to the same states whatever the settings of its nodes are', () => {
  let folded = 0
  for (const history of readHistories().values())
    for (const run of runsOf(history)) {
      const plan = planOf(history, run)
      const bare = statesOf(history, run, withoutSettings(plan))
      expect(bare).toEqual(statesOf(history, run, plan))
      folded += bare.length
    }
  expect(folded).toBeGreaterThan(1_000)
})
