import { describe, expect, it } from 'vitest'
import type { JsonObject } from '../../core/json.js'
import { agentsDouble, type Script } from '../../testing/agents.js'
import { engineRig, register, startRun } from '../../testing/engine-rig.js'
import { AGENT, agentFlow, answered, tool, wants } from '../../testing/invocations.js'
import { settled } from '../../testing/manual-clock.js'

const READ = tool('mcp:files.read')

/** Two rounds of a tool, then an answer that says what it was shown. */
const STORY: Script = {
  agents: { [AGENT]: { tools: [READ] } },
  think: ({ rounds }) =>
    rounds.length < 2
      ? { said: wants(READ.toolId), args: [{ page: rounds.length }] }
      : { said: answered(rounds.map(({ results }) => results[0]!.text).join(), 0.9) },
  use: ({ args }, nth) => ({ status: 'ok', durationMs: nth, resultTokens: 9, text: `page ${JSON.stringify(args)}` }),
}

async function told() {
  const rig = engineRig()
  const agents = agentsDouble(STORY)
  const engine = await rig.host({ agents })
  await register(engine, agentFlow({}, { id: 'w' }))
  const runId = await startRun(engine, 'w', { inputs: { task: 't' } })
  const rows = await rig.store.readEvents(runId, 0)
  return { rig, agents, engine, runId, rows }
}

describe('a branch in the middle of an invocation', () => {
  it('R-REPLAY-11 A1: goes on with what the source has, and calls only what is after the cut', async () => {
    const { rig, agents, engine, runId, rows } = await told()
    const whole = { thoughts: agents.thoughts.length, uses: agents.uses.length }
    expect(whole).toEqual({ thoughts: 3, uses: 2 })
    const source = agents.thoughts.map(({ rounds }) => rounds)
    const names = agents.thoughts.map(({ id }) => id)
    for (let fromSeq = 1; fromSeq < rows.length; fromSeq += 1) {
      agents.thoughts.length = 0
      agents.uses.length = 0
      const answer = await engine.fork({ tenant: 't1', runId, mode: 'branch', fromSeq })
      if (!answer.ok) throw new Error('refused')
      await settled()
      const own = await rig.store.readEvents(answer.value.runId, 0)
      expect(own.at(-1)!.type, `from ${fromSeq}`).toBe('run.completed')
      expect(JSON.parse(own.at(-1)!.payload)).toEqual(JSON.parse(rows.at(-1)!.payload))
      // A call that was answered before the cut is not made; one that was not is the branch's own.
      const answeredBefore = rows.slice(0, fromSeq).filter(({ type }) => type === 'provider.usage').length
      const returnedBefore = rows.slice(0, fromSeq).filter(({ type }) => type === 'agent.toolReturned').length
      // The words of the answer itself are not kept, but the decision that follows from it is the source's.
      const isHeard = rows[fromSeq - 1]!.type === 'agent.reasoned'
      expect(agents.thoughts.length, `from ${fromSeq}`).toBe(whole.thoughts - answeredBefore - (isHeard ? 1 : 0))
      expect(agents.uses.length, `from ${fromSeq}`).toBe(whole.uses - returnedBefore)
      for (const { rounds, id } of agents.thoughts) {
        expect(rounds).toEqual(source[rounds.length])
        expect(names).not.toContain(id)
      }
    }
  })

  it('R-REPLAY-11 R-REPLAY-12 R-TOOL-7: a replay calls nobody and says the same, byte for byte, from every event', async () => {
    const { rig, agents, engine, runId, rows } = await told()
    const before = [agents.briefs.length, agents.thoughts.length, agents.uses.length]
    for (let fromSeq = 0; fromSeq <= rows.length; fromSeq += 1) {
      const answer = await engine.fork({ tenant: 't1', runId, mode: 'replay', fromSeq })
      if (!answer.ok) throw new Error('refused')
      await settled()
      const again = await rig.store.readEvents(answer.value.runId, 0)
      const said = ({ type, nodeId, payload, secret, cause, at }: (typeof rows)[number]) =>
        JSON.stringify([type, nodeId, payload, secret, cause, at])
      expect(again.map(said), `from ${fromSeq}`).toEqual(rows.map(said))
    }
    expect([agents.briefs.length, agents.thoughts.length, agents.uses.length]).toEqual(before)
  })

  it('what the source had lost or spent is spent in the branch too', async () => {
    const { rig, engine, runId, rows } = await told()
    const fromSeq = rows.findIndex(({ type }) => type === 'agent.toolReturned') + 1
    const answer = await engine.fork({ tenant: 't1', runId, mode: 'branch', fromSeq })
    if (!answer.ok) throw new Error('refused')
    await settled()
    const own = await rig.store.readEvents(answer.value.runId, 0)
    const totals = own
      .filter(({ type }) => type === 'provider.usage')
      .map(({ payload }) => Number((JSON.parse(payload) as JsonObject).totalTokens))
    const view = (await engine.inspect('t1', answer.value.runId))!
    expect(view.state.phase === 'ended' && view.state.spend?.tokens).toBe(totals.reduce((sum, each) => sum + each))
  })
})
