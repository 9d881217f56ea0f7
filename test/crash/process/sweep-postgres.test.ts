import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startPostgres } from '../../support/postgres.js'
import { ORCHESTRATED } from './orchestrated.js'
import { SCENARIOS } from './scenarios.js'
import { type Swept, sweep } from './sweep.js'

let postgres: Awaited<ReturnType<typeof startPostgres>>
beforeAll(async () => {
  postgres = await startPostgres({ durable: false })
})
afterAll(() => postgres.stop())

const swept: Swept = { kind: 'PostgreSQL', databaseIn: () => postgres.createDatabase(), every: 9 }

describe('F1: SIGKILL before and after store transactions, PostgreSQL', () => {
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
    expect(kills).toBeGreaterThanOrEqual(20)
  })
})
