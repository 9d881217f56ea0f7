import { describe, expect, it } from 'vitest'
import { ORCHESTRATED } from './orchestrated.js'
import { SCENARIOS } from './scenarios.js'
import { type Swept, sweep } from './sweep.js'

const swept: Swept = { kind: 'SQLite', databaseIn: async data => `sqlite:${data}/assay.db`, every: 3 }

describe('F1: SIGKILL before and after store transactions, SQLite', () => {
  let kills = 0

  it.each(SCENARIOS)('$name: all ends, the checker is silent, the story is the crash-free one', async scenario => {
    kills += await sweep(scenario, swept)
  })

  it.each(ORCHESTRATED)(
    'R-ORCH-7, R-REPLAY-12: $name: so does an orchestrator, and told again it calls and starts nobody',
    async scenario => {
      kills += await sweep(scenario, swept)
    },
  )

  it('was killed often enough for all that to mean something', () => {
    expect(kills).toBeGreaterThanOrEqual(50)
  })
})
