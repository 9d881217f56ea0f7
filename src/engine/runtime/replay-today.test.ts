import { describe, expect, it, test } from 'vitest'
import { runsIn } from '../../../test/support/stored-runs.js'
import type { PromptsTold } from '../../core/invocation/brief.js'
import { checkLog } from '../../log-check/check-log.js'
import { agentsDouble, BRIEF } from '../../testing/agents.js'
import { engineRig, register, startRun } from '../../testing/engine-rig.js'
import { settled } from '../../testing/manual-clock.js'
import { ASK, ASKING, askedOnce } from '../../testing/model-runs.js'
import type { Store } from '../ports/store.js'
import { NOTHING_TODAY, type Today } from '../ports/today.js'
import { decode } from '../log/encode.js'

const eventsOf = async (store: Store, runId: string) =>
  (await store.readEvents(runId, 0, 999)).map(row => decode(runId, row))
const typesOf = async (store: Store, runId: string) => (await eventsOf(store, runId)).map(({ type }) => type)

const DIRECTIONS = [
  ['answered then and would refuse now', { today: 'refusal' }, 'valid', 'refusal'],
  ['refused then and would answer now', { said: { kind: 'refused' }, today: 'valid' }, 'refusal', 'valid'],
] as const

describe.each(DIRECTIONS)(
  'R-REPLAY-4 R-REPLAY-9 R-REPLAY-19: the provider mock %s',
  (_how, asking, original, replay) => {
    it('the fork is made, and its run fails with one event that says so; nothing after the node runs', async () => {
      const { rig, runIds } = await askedOnce(asking)
      const [sourceRunId = '', runId = ''] = runIds
      const events = await eventsOf(rig.store, runId)
      const told = events.filter(({ type }) => type.startsWith('replay.'))
      const at = told[0]?.sequence ?? 0
      expect(told.map(({ type, nodeId, payload }) => ({ type, nodeId, payload }))).toEqual([
        {
          type: 'replay.divergedAtRefusal',
          nodeId: ASK,
          payload: {
            sourceRunId,
            atSequence: at,
            originalEventId: `${sourceRunId}:${at}`,
            nodeId: ASK,
            originalEnvelopeKind: original,
            replayEnvelopeKind: replay,
          },
        },
      ])
      const details = { atSequence: at, nodeId: ASK, originalEnvelopeKind: original, replayEnvelopeKind: replay }
      expect(events.at(-1)).toMatchObject({
        type: 'run.failed',
        payload: { error: { code: 'replay_diverged_at_refusal', details }, failedNodeId: ASK },
      })
      expect(events.slice(at + 1).some(({ type }) => type === 'node.started')).toBe(false)
      expect(checkLog({ runs: await runsIn(rig.store), complete: true })).toEqual([])
    })

    it('R-REPLAY-8: up to there it is told as the source has it', async () => {
      const { rig, runIds } = await askedOnce(asking)
      const [source = [], fork = []] = await Promise.all(runIds.map(runId => typesOf(rig.store, runId)))
      const at = fork.indexOf('replay.divergedAtRefusal')
      expect(at).toBeGreaterThan(0)
      expect(fork.slice(0, at)).toEqual(source.slice(0, at))
    })
  },
)

test('R-REPLAY-19: where the kind is the same, the record is told and nobody is called', async () => {
  const { rig, runIds } = await askedOnce({ today: 'valid' })
  const [source, fork] = await Promise.all(runIds.map(runId => typesOf(rig.store, runId)))
  expect(fork).toEqual(source)
})

test('R-REPLAY-9: a replay of such a replay says the same again, whatever the program is by then', async () => {
  const { rig, runIds } = await askedOnce({ today: 'refusal' })
  const engine = await rig.host({ agents: agentsDouble(), today: { ...NOTHING_TODAY, envelope: () => 'valid' } })
  const again = await engine.fork({ tenant: 't1', runId: runIds[1] as string, mode: 'replay', fromSeq: 0 })
  if (!again.ok) throw new Error('refused')
  await settled()
  expect(await typesOf(rig.store, again.value.runId)).toEqual(await typesOf(rig.store, runIds[1] as string))
  expect(checkLog({ runs: await runsIn(rig.store), complete: true })).toEqual([])
})

test('R-REPLAY-19: a real provider is never asked what it would say now', async () => {
  const { rig, runIds } = await askedOnce({ brief: { provider: 'openai' }, today: 'refusal' })
  const [source, fork] = await Promise.all(runIds.map(runId => typesOf(rig.store, runId)))
  expect(fork).toEqual(source)
})

/** Where the difference is, in a replay of a run whose prompts are not today what they were. */
async function prompted(change: Partial<PromptsTold>) {
  const rig = engineRig()
  const { prompts, composed } = BRIEF
  const today: Today = { ...NOTHING_TODAY, prompts: () => ({ prompts, composed, ...change }) }
  const agents = agentsDouble({ agents: { [`host:prompt:${ASK}`]: {} } })
  const engine = await rig.host({ agents, today })
  await register(engine, ASKING)
  const runId = await startRun(engine, ASKING.id)
  await settled()
  const briefs = agents.briefs.length
  const fork = await engine.fork({ tenant: 't1', runId, mode: 'replay', fromSeq: 0 })
  if (!fork.ok) throw new Error('refused')
  await settled()
  expect([agents.briefs.length, agents.thoughts.length]).toEqual([briefs, 1])
  expect(checkLog({ runs: await runsIn(rig.store), complete: true })).toEqual([])
  const events = await eventsOf(rig.store, fork.value.runId)
  return { events, source: await eventsOf(rig.store, runId) }
}

const OTHER = `sha256:${'f'.repeat(64)}`

test.each([
  ['hash', { composed: { ...BRIEF.composed, hash: OTHER } }, 'prompt.composed'],
  ['refs', { composed: { ...BRIEF.composed, refs: ['prompt:other@1.0.0'] } }, 'prompt.composed'],
  ['variableHashes', { composed: { ...BRIEF.composed, variableHashes: { name: OTHER } } }, 'prompt.composed'],
  [
    'resolved',
    { prompts: BRIEF.prompts.map(prompt => ({ ...prompt, resolved: 'prompt:other@2.0.0' })) },
    'agent.promptResolved',
  ],
] as const)(
  'R-PROMPT-6: another %s today is told once, before what differs, and the replay goes on',
  async (_what, change, point) => {
    const { events, source } = await prompted(change)
    const remarks = events.filter(({ type }) => type === 'replay.diverged')
    expect(remarks.map(({ payload }) => payload)).toMatchObject([{ divergencePoint: point, divergenceKind: 'output' }])
    expect(events[(remarks[0]?.sequence ?? 0) + 1]?.type).toBe(point)
    expect(events.at(-1)?.type).toBe('run.completed')
    expect(events.length).toBe(source.length + 1)
  },
)

test('R-PROMPT-6: the same prompts today are told as they were', async () => {
  const { events, source } = await prompted({})
  expect(events.map(({ type }) => type)).toEqual(source.map(({ type }) => type))
})
