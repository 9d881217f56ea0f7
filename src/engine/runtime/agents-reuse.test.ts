import { describe, expect, it } from 'vitest'
import type { ModelSaid } from '../../core/invocation/brief.js'
import { SUMMARY_TOKENS } from '../../core/reasoning.js'
import { agentsDouble } from '../../testing/agents.js'
import { engineRig, register, startRun } from '../../testing/engine-rig.js'
import { agentFlow, answered } from '../../testing/invocations.js'
import { logOf, payloadsOf } from '../../testing/run-logs.js'

/** A recipe that leaves out how much room an answer gets: the further try of the same request has the same key. */
const coarse = (first: ModelSaid) => ({
  ...agentsDouble({ think: (_ask, nth) => ({ said: nth === 1 ? first : answered('whole') }) }),
  keyOf: ({ rounds }: { readonly rounds: readonly unknown[] }) => String(rounds.length).padEnd(64, 'k'),
})

async function hostOf(agents: ReturnType<typeof coarse>) {
  const rig = engineRig()
  const engine = await rig.host({ agents, reuseAnswers: true })
  await register(engine, agentFlow({}, { id: 'w' }))
  return { rig, engine }
}

describe('an answer that nobody could go on with', () => {
  it('R-REPLAY-16 R-ENV-2: cut off, it is not found again by the try that has more room', async () => {
    const agents = coarse({ kind: 'truncated', stopReason: 'length' })
    const { rig, engine } = await hostOf(agents)
    const log = await logOf(rig, await startRun(engine, 'w'))
    expect(log.at(-1)).toMatchObject({ type: 'run.completed', payload: { outputs: { result: 'whole' } } })
    expect(payloadsOf(log, 'provider.usage').map(({ cacheHit }) => cacheHit)).toEqual([undefined, undefined])
    expect(agents.thoughts).toHaveLength(2)
  })

  it('R-REPLAY-16 R-ENV-1: refused, it is not found again by the next run', async () => {
    const agents = coarse({ kind: 'refused' })
    const { rig, engine } = await hostOf(agents)
    expect((await logOf(rig, await startRun(engine, 'w'))).at(-1)!.type).toBe('run.failed')
    expect((await logOf(rig, await startRun(engine, 'w'))).at(-1)!.type).toBe('run.completed')
    expect(agents.thoughts).toHaveLength(2)
  })

  it('R-REPLAY-16 R-BUDGET-1: one that is whole is', async () => {
    const agents = coarse(answered('whole'))
    const { rig, engine } = await hostOf(agents)
    await startRun(engine, 'w')
    const log = await logOf(rig, await startRun(engine, 'w'))
    expect(payloadsOf(log, 'provider.usage')).toMatchObject([{ cacheHit: true }])
    expect(agents.thoughts).toHaveLength(1)
  })
})

describe('reasons of an answer that is used again', () => {
  const REASONS = `${'because '.repeat(SUMMARY_TOKENS)}THE-END`

  /** Everything that is kept of a run beside what it tells: what the effect brought is among it. */
  async function keptOf(reasoningVerbosity: 'off' | 'summary' | 'full'): Promise<string> {
    const agents = {
      ...agentsDouble({ think: () => ({ said: answered('whole'), reasoning: REASONS }) }),
      keyOf: () => 'k'.repeat(64),
    }
    const { rig, engine } = await hostOf(agents)
    await startRun(engine, 'w', { configurable: { reasoningVerbosity: 'full' } })
    const runId = await startRun(engine, 'w', { configurable: { reasoningVerbosity } })
    expect(agents.thoughts).toHaveLength(1)
    const rows = await rig.store.readEvents(runId, 0, 100)
    return rows.map(({ payload, secret, input }) => `${payload} ${secret} ${input}`).join('\n')
  }

  it('R-EVENT-5: are given to a run that wants none to no part of it', async () => {
    expect(await keptOf('off')).not.toContain('because')
  })

  it('R-EVENT-5: are given to a run that wants a summary as far as that goes', async () => {
    const kept = await keptOf('summary')
    expect(kept).toContain('because because')
    expect(kept).not.toContain('THE-END')
  })

  it('R-EVENT-5: are given whole to a run that wants all of them', async () => {
    expect(await keptOf('full')).toContain('THE-END')
  })
})
