import { describe, expect, it } from 'vitest'
import { findingsOf, runsIn } from '../../../test/support/stored-runs.js'
import { type AgentsDouble, agentsDouble, type Script } from '../../testing/agents.js'
import { engineRig, type Rig, register, startRun } from '../../testing/engine-rig.js'
import { blocker } from '../../testing/gate-stories.js'
import { boundGate } from '../../testing/gates.js'
import { AGENT, agentFlow, answered, tool, wants } from '../../testing/invocations.js'
import { settled } from '../../testing/manual-clock.js'
import { MortalHost } from '../../testing/mortal-host.js'
import { standardsDouble } from '../../testing/verification.js'
import type { ModelCallRequest } from '../ports/agents.js'

/** A gate between a tool and its agent, through the real engine and with the runs of its verifiers. */

const PRICES = tool('mcp:shop.prices')
const BAD = 'the price is a cent'
const GOOD = 'the price is 25'
const ANSWER = 'it is 25'

const bound = boundGate({
  position: { workflow_id: 'w', phase_id: 'a', placement: 'checkpoint', tool_name: PRICES.toolId },
  behaviour: { max_attempts: 1 },
})
const standards = standardsDouble({ w: [{ ...bound, hash: 'a'.repeat(64) }] })

const shownTo = ({ brief, rounds }: ModelCallRequest): string => JSON.stringify([brief.user, rounds])

/** Two calls in one turn, of which the first brings what does not pass; by what was said, never by what is remembered. */
const STORY: Script = {
  agents: { [AGENT]: { tools: [PRICES] }, 'assay.verifier': {} },
  think: ask => {
    if (ask.role === 'verifier') {
      const isBad = shownTo(ask).includes(BAD)
      return { said: answered({ scores: { correctness: isBad ? 2 : 9 }, findings: isBad ? [blocker()] : [] }, 0.9) }
    }
    if (ask.rounds.length === 0)
      return { said: wants(PRICES.toolId, PRICES.toolId), args: [{ of: 'bad' }, { of: 'good' }] }
    return { said: answered(ANSWER, 0.9) }
  },
  use: ({ args }) => ({
    status: 'ok',
    durationMs: 1,
    resultTokens: 9,
    text: (args as { of?: string }).of === 'bad' ? BAD : GOOD,
  }),
}

async function begun(rig: Rig, agents: AgentsDouble, before: (host: MortalHost) => void = () => undefined) {
  const host = await new MortalHost(rig).boot(agents, { standards })
  await register(host.engine, agentFlow({ config: { resultVariable: 'got' } }, { id: 'w' }))
  host.writes = []
  before(host)
  // The process may die before it answers; the run is there all the same once its first commit is.
  const created = startRun(host.engine, 'w', { inputs: { task: 't' } })
  created.catch(error => expect(String(error)).toContain('unavailable'))
  for (let i = 0; i < 4; i += 1) await rig.clock.advance(500)
  return host
}

const theRun = async (rig: Rig) =>
  (await rig.store.listRuns({ tenant: 't1', limit: 10 })).find(({ workflowId }) => workflowId === 'w')!

const typesIn = async (rig: Rig, runId: string) => (await rig.store.readEvents(runId, 0)).map(({ type }) => type)

/** What the agent was shown, call by call; verifiers have their own. */
const shownToAgent = ({ thoughts }: AgentsDouble) => thoughts.filter(({ role }) => role !== 'verifier').map(shownTo)

describe('a gate between a tool and its agent', () => {
  it('R-VERIFY-10: the model is shown what has passed, and of the rest that it was withheld', async () => {
    const rig = engineRig()
    const agents = agentsDouble(STORY)
    await begun(rig, agents)
    const { runId, status } = await theRun(rig)
    expect(status).toBe('completed')
    const [, second] = shownToAgent(agents)
    expect(second).toContain('withheld by gate \\"g1\\" (not met: correctness)')
    expect(second).toContain(GOOD)
    expect(second).not.toContain(BAD)
    const payloads = (await rig.store.readEvents(runId, 0)).map(({ payload }) => payload).join('\n')
    for (const words of [BAD, GOOD]) expect(payloads).not.toContain(words)
    expect(findingsOf(await runsIn(rig.store))).toEqual([])
  })

  it('S1: a crash before or after any write changes nothing of that, and each result is judged, and given or withheld, once', async () => {
    const plain = engineRig()
    const { writes } = await begun(plain, agentsDouble(STORY))
    const types = await typesIn(plain, (await theRun(plain)).runId)
    expect(types.filter(type => type.startsWith('assay.tool.'))).toEqual([
      'assay.tool.withheld',
      'assay.tool.delivered',
    ])
    expect(writes.length).toBeGreaterThan(25)
    let crashes = 0
    for (const when of ['before', 'after'] as const)
      for (let at = 2; at <= writes.length; at += 1) {
        const where = `${when} write ${at}`
        const rig = engineRig()
        const agents = agentsDouble(STORY)
        const first = await begun(rig, agents, host => host.dieAt(at, when))
        if (!first.isDead) continue
        crashes += 1
        await new MortalHost(rig).boot(agents, { standards })
        for (let i = 0; i < 6; i += 1) await rig.clock.advance(1_000)
        const { runId, status } = await theRun(rig)
        expect(status, where).toBe('completed')
        for (const shown of shownToAgent(agents)) expect(shown, where).not.toContain(BAD)
        const told = await typesIn(rig, runId)
        expect(
          told.filter(type => type === 'agent.verified' || type.startsWith('assay.tool.')),
          where,
        ).toEqual(types.filter(type => type === 'agent.verified' || type.startsWith('assay.tool.')))
        expect(findingsOf(await runsIn(rig.store)), where).toEqual([])
      }
    expect(crashes).toBeGreaterThan(40)
    await settled()
  }, 120_000)
})
