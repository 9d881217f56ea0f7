import { expect, it } from 'vitest'
import { given } from '../../../testing/given-when-then.js'
import type { JsonObject } from '../../json.js'

const flow = (config: JsonObject) => ({ nodes: { d: { type: 'core.delay', config } } })

it.each([
  [{ delayMs: 40 }, 1_040],
  [{ durationMs: 50 }, 1_050],
  [{ ms: 60 }, 1_060],
  [{ delayMs: 40, durationMs: 50 }, 1_040],
])('R-CAP-3 R-FLOW-4: %j is waited for until %d', (config, due) => {
  const run = given(flow(config)).start()
  expect(run.wakeAt).toBe(due)
  run.after(due - 1_000)
  expect(run.told().at(-1)).toBe('run.completed')
})
