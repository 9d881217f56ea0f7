import { describe, expect, it } from 'vitest'
import type { JsonObject } from '../../core/json.js'
import { checkLog } from '../../log-check/check-log.js'
import { fromRows } from '../../log-check/read-log.js'
import { type AgentsDouble, agentsDouble, type Script } from '../../testing/agents.js'
import { engineRig, type Rig, register, startRun } from '../../testing/engine-rig.js'
import { AGENT, agentFlow, answered, tool, wants } from '../../testing/invocations.js'
import { settled } from '../../testing/manual-clock.js'
import { MortalHost, never } from '../../testing/mortal-host.js'

const READ = tool('mcp:files.read')
const SEND = tool('http:mail.send', { transport: 'http', repeat: 'never' })

/** Two rounds of tools, a correction, then the answer: by what was said before, never by what is remembered. */
const STORY: Script = {
  agents: { [AGENT]: { tools: [READ, SEND] } },
  think: ({ rounds }) => {
    if (rounds.length === 0) return { said: wants(READ.toolId, SEND.toolId), args: [{ path: 'x' }, { to: 'ann' }] }
    if (rounds.length === 1) return { said: wants('x:foreign', READ.toolId), args: [{}, { path: 'y' }] }
    if (rounds.length === 2) return { said: { kind: 'unusable', reason: 'parse-error', problem: 'as JSON' } }
    return { said: answered({ text: 'hello' }, 0.9) }
  },
  use: ({ toolId, args }) => ({
    status: 'ok',
    durationMs: 1,
    resultTokens: 9,
    text: `${toolId} ${JSON.stringify(args)}`,
  }),
}

type Told = { readonly type: string; readonly payload: JsonObject }

async function logOf(rig: Rig, runId: string): Promise<Told[]> {
  const rows = await rig.store.readEvents(runId, 0)
  return rows.map(({ type, payload }) => ({ type, payload: JSON.parse(payload) as JsonObject }))
}

const countsOf = (ids: readonly { readonly id: string }[]): Map<string, number> => {
  const counts = new Map<string, number>()
  for (const { id } of ids) counts.set(id, (counts.get(id) ?? 0) + 1)
  return counts
}

async function expectSound(rig: Rig, runId: string): Promise<void> {
  const row = (await rig.store.readRun(null, runId))!
  const definition = JSON.parse((await rig.store.getDefinition(row.workflowDigest))!)
  const events = fromRows(runId, await rig.store.readEvents(runId, 0))
  expect(checkLog({ runs: [{ runId, tenant: 't1', row, definition, events }], complete: true })).toEqual([])
}

/** Tells the run again on a host whose agents must not be called. */
async function expectRetold(rig: Rig, runId: string): Promise<void> {
  const nobody = agentsDouble({ agents: {} })
  const engine = await rig.host({ agents: nobody })
  const answer = await engine.fork({ tenant: 't1', runId, mode: 'replay', fromSeq: 0 })
  if (!answer.ok) throw new Error('refused')
  await settled()
  const own = await rig.store.readEvents(runId, 1)
  const again = await rig.store.readEvents(answer.value.runId, 1)
  const said = ({ type, nodeId, payload, secret, cause }: (typeof own)[number]) => ({
    type,
    nodeId,
    payload,
    secret,
    cause,
  })
  expect(again.map(said)).toEqual(own.map(said))
  expect([nobody.briefs, nobody.thoughts, nobody.uses]).toEqual([[], [], []])
}

async function begun(rig: Rig, agents: AgentsDouble, before: (host: MortalHost) => void = () => undefined) {
  const host = await new MortalHost(rig).boot(agents)
  await register(host.engine, agentFlow({}, { id: 'w' }))
  host.writes = []
  before(host)
  // The process may die before it answers; the run is there all the same once its first commit is.
  const created = startRun(host.engine, 'w', { inputs: { task: 't' } })
  created.catch(error => expect(String(error)).toContain('unavailable'))
  await settled()
  await settled()
  return host
}

const onlyRun = async (rig: Rig): Promise<string | undefined> =>
  (await rig.store.listRuns({ tenant: 't1', limit: 10 }))[0]?.runId

/** The story without a crash: what the model was shown in each call. */
async function undisturbed() {
  const rig = engineRig()
  const agents = agentsDouble(STORY)
  const host = await begun(rig, agents)
  const log = await logOf(rig, (await onlyRun(rig))!)
  return { writes: host.writes.length, log, rounds: agents.thoughts.map(({ rounds }) => rounds) }
}

/** Without what a crash adds: calls that were lost, and their further tries. */
const withoutLosses = (log: readonly Told[]) =>
  log.filter(
    ({ type, payload }) =>
      type !== 'assay.model.lost' && !(type === 'assay.model.requested' && Number(payload.attempt) > 1),
  )

const seen = { crashes: 0, 'calls lost': 0, 'tools called again': 0, 'outcomes unknown': 0, 'nothing lost': 0 }

describe('a crash before or after any write', () => {
  it('A1 R-LIVE-2 R-REPLAY-11 R-REPLAY-12: no call whose outcome is kept is made again, and the model is shown the same', async () => {
    const plain = await undisturbed()
    expect(plain.writes).toBeGreaterThanOrEqual(25)
    for (const when of ['before', 'after'] as const)
      for (let at = 2; at <= plain.writes; at += 1) {
        const where = `${when} write ${at}`
        const rig = engineRig()
        const agents = agentsDouble(STORY)
        const first = await begun(rig, agents, host => host.dieAt(at, when))
        expect(first.isDead, where).toBe(true)
        seen.crashes += 1
        await new MortalHost(rig).boot(agents)
        await rig.clock.advance(2_000)
        const runId = (await onlyRun(rig))!
        const log = await logOf(rig, runId)
        const lost = log.filter(({ type }) => type === 'assay.model.lost').length
        const thoughts = [...countsOf(agents.thoughts).values()]
        const uses = countsOf(agents.uses)
        const repeated = thoughts.filter(count => count > 1).length
        seen['calls lost'] += lost
        if (lost === 0 && log.at(-1)!.type === 'run.completed') seen['nothing lost'] += 1
        // What is made again was told to be lost first; what was not begun may be lost all the same.
        expect(repeated, where).toBeLessThanOrEqual(lost)
        expect(Math.max(...thoughts), where).toBeLessThanOrEqual(2)
        const sent = agents.uses.filter(({ toolId }) => toolId === SEND.toolId)
        expect(sent.length, where).toBeLessThanOrEqual(1)
        const usedTwice = [...uses.values()].filter(count => count > 1).length
        seen['tools called again'] += usedTwice
        expect(usedTwice, where).toBeLessThanOrEqual(1)
        for (const { rounds } of agents.thoughts) expect(rounds, where).toEqual(plain.rounds[rounds.length])
        await expectSound(rig, runId)
        await expectRetold(rig, runId)
        const unknown = log.some(({ payload }) => JSON.stringify(payload).includes('effect_outcome_unknown'))
        if (unknown) seen['outcomes unknown'] += 1
        else
          expect(
            withoutLosses(log).map(({ type }) => type),
            where,
          ).toEqual(plain.log.map(({ type }) => type))
      }
  }, 120_000)

  it('R-BUDGET-1: also when the next host dies while it finds out: every call that may have been billed is counted', async () => {
    for (const when of ['before', 'after'] as const)
      for (let at = 1; at <= 8; at += 1) {
        const where = `second host dies ${when} its write ${at}`
        const rig = engineRig()
        let host: MortalHost | undefined
        const agents = agentsDouble({
          ...STORY,
          think: (ask, nth) => {
            if (nth !== 2) return STORY.think!(ask, nth)
            host!.die()
            return never()
          },
        })
        await begun(rig, agents, booted => {
          host = booted
        })
        const second = new MortalHost(rig)
        second.dieAt(at, when)
        await second.boot(agents)
        await settled()
        expect(second.isDead, where).toBe(true)
        seen.crashes += 2
        await new MortalHost(rig).boot(agents)
        await rig.clock.advance(2_000)
        const runId = (await onlyRun(rig))!
        const log = await logOf(rig, runId)
        expect(log.at(-1)!.type, where).toBe('run.completed')
        const lost = log.filter(({ type, payload }) => type === 'assay.model.lost' && payload.call === 2).length
        const asked = countsOf(agents.thoughts).get(agents.thoughts[1]!.id)!
        expect(asked, where).toBeLessThanOrEqual(1 + lost)
        expect(
          agents.uses.filter(({ toolId }) => toolId === SEND.toolId),
          where,
        ).toHaveLength(1)
        await expectSound(rig, runId)
      }
  }, 60_000)

  it('all of it has happened', () => {
    for (const [what, count] of Object.entries(seen)) expect(count, what).toBeGreaterThan(0)
  })
})

describe('a host that dies in the middle of a call', () => {
  it('R-BUDGET-1: of a model: the loss is told, then the same call is made again under the same identity', async () => {
    const rig = engineRig()
    let host: MortalHost | undefined
    const agents = agentsDouble({
      ...STORY,
      think: (ask, nth) => {
        if (nth !== 2) return STORY.think!(ask, nth)
        host!.die()
        return never()
      },
    })
    host = await begun(rig, agents, booted => {
      host = booted
    })
    const runId = (await onlyRun(rig))!
    const calm = await new MortalHost(rig).boot(agents)
    await rig.clock.advance(2_000)
    const log = await logOf(rig, runId)
    expect(log.at(-1)!.type).toBe('run.completed')
    const lost = log.findIndex(({ type }) => type === 'assay.model.lost')
    expect(log[lost]!.payload).toMatchObject({ call: 2, attempt: 1 })
    expect(log[lost + 1]).toMatchObject({ type: 'assay.model.requested', payload: { call: 2, attempt: 2 } })
    expect(agents.thoughts[2]!.id).toBe(agents.thoughts[1]!.id)
    expect(agents.thoughts[2]!.rounds).toEqual(agents.thoughts[1]!.rounds)
    expect(calm.isDead).toBe(false)
    await expectSound(rig, runId)
    await expectRetold(rig, runId)
  })

  it('of a tool that may be repeated: it is called again under the same identity; of one that may not: it is not', async () => {
    for (const victim of [READ, SEND]) {
      const rig = engineRig()
      let host: MortalHost | undefined
      let isKilled = false
      const agents = agentsDouble({
        ...STORY,
        use: (ask, nth) => {
          if (isKilled || ask.toolId !== victim.toolId) return STORY.use!(ask, nth)
          isKilled = true
          host!.die()
          return never()
        },
      })
      host = await begun(rig, agents, booted => {
        host = booted
      })
      await new MortalHost(rig).boot(agents)
      await rig.clock.advance(2_000)
      const runId = (await onlyRun(rig))!
      const log = await logOf(rig, runId)
      const calls = agents.uses.filter(({ toolId }) => toolId === victim.toolId)
      if (victim === READ) {
        expect(log.at(-1)!.type).toBe('run.completed')
        expect(calls[1]!.id).toBe(calls[0]!.id)
        expect(calls[1]!.args).toEqual(calls[0]!.args)
      } else {
        expect(calls).toHaveLength(1)
        expect(log.at(-1)).toMatchObject({ type: 'run.failed', payload: { error: { code: 'effect_outcome_unknown' } } })
      }
      await expectSound(rig, runId)
    }
  })

  it('a peer of another name takes over once the lease is over, and not before', async () => {
    const rig = engineRig()
    let host: MortalHost | undefined
    const agents = agentsDouble({
      think: (_ask, nth) => {
        if (nth > 1) return { said: answered() }
        host!.die()
        return never()
      },
    })
    await begun(rig, agents, booted => {
      host = booted
    })
    await new MortalHost(rig).boot(agents, { hostName: 'peer' })
    const runId = (await onlyRun(rig))!
    await rig.clock.advance(5_000)
    expect(agents.thoughts).toHaveLength(1)
    await rig.clock.advance(10_000)
    expect((await logOf(rig, runId)).at(-1)!.type).toBe('run.completed')
    expect(agents.thoughts).toHaveLength(2)
  })
})

describe('a store that refuses an outcome once', () => {
  it.each(['brief', 'think', 'use'] as const)(
    'of %s: the outcome is kept, and only its storing is tried again',
    async what => {
      const rig = engineRig()
      let host: MortalHost | undefined
      const refuse = () => host!.refuseOnce('finishEffect')
      const agents = agentsDouble({
        ...STORY,
        think: (ask, nth) => {
          if (what === 'think' && nth === 1) refuse()
          return STORY.think!(ask, nth)
        },
        use: (ask, nth) => {
          if (what === 'use' && nth === 2) refuse()
          return STORY.use!(ask, nth)
        },
      })
      host = await begun(rig, agents, booted => {
        host = booted
        if (what === 'brief') refuse()
      })
      expect(host.hasRefused).toBe(true)
      await rig.clock.advance(3_000)
      const runId = (await onlyRun(rig))!
      expect((await logOf(rig, runId)).at(-1)!.type).toBe('run.completed')
      for (const asked of [agents.thoughts, agents.uses]) expect(Math.max(...countsOf(asked).values())).toBe(1)
      expect(agents.briefs).toHaveLength(1)
      await expectSound(rig, runId)
    },
  )
})

describe('a store that cannot be read once', () => {
  it('A1: the host that takes over tries again, and nothing is lost or called twice', async () => {
    const rig = engineRig()
    let first: MortalHost | undefined
    const agents = agentsDouble({
      ...STORY,
      think: (ask, nth) => {
        if (nth === 1) first!.dieAt(2, 'after')
        return STORY.think!(ask, nth)
      },
    })
    await begun(rig, agents, booted => {
      first = booted
    })
    expect(first!.isDead).toBe(true)
    const second = new MortalHost(rig)
    second.refuseOnce('readEffect')
    await second.boot(agents)
    await settled()
    expect(second.hasRefused).toBe(true)
    await rig.clock.advance(3_000)
    const log = await logOf(rig, (await onlyRun(rig))!)
    expect(log.at(-1)!.type).toBe('run.completed')
    expect(log.filter(({ type }) => type === 'assay.model.lost')).toEqual([])
    for (const asked of [agents.thoughts, agents.uses]) expect(Math.max(...countsOf(asked).values())).toBe(1)
  })
})
