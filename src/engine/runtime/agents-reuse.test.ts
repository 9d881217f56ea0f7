import { describe, expect, it } from 'vitest'
import type { ModelSaid } from '../../core/invocation/brief.js'
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
