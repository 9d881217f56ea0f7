import { expect, test } from 'vitest'
import { runsIn } from '../../../test/support/stored-runs.js'
import { type FamilyStory, gatedFamily, handing, says, score, writing } from '../../testing/gated-families.js'
import { checkLog } from '../check-log.js'
import type { CheckedRun, Finding } from '../checked.js'

/** Gates through the real engine, with the runs of their verifiers: what it writes is what the rules say. */

type Story = FamilyStory & { readonly tells: readonly string[] }

const exit = { workflow_id: 'w', phase_id: 'a', placement: 'workflow_exit' as const }

const STORIES: { readonly [title: string]: Story } = {
  'a worker’s result that passes': { workflow: handing, votes: [score(9)], tells: ['output.harvested', 'pass'] },
  'a worker’s result that is sent back and passes then': {
    workflow: handing,
    votes: [score(2), score(9)],
    tells: ['revise', 'assay.rework.began', 'output.harvested'],
  },
  'a worker’s result that is withheld': {
    workflow: handing,
    votes: [score(2)],
    tells: ['revise', 'fail', 'assay.result.withheld', 'node.completed'],
  },
  'an agent’s result that is sent back and passes then': {
    workflow: writing('w'),
    votes: [score(2), score(9)],
    tells: ['revise', 'assay.rework.began', 'run.completed'],
  },
  'a run that is sent back at its exit': {
    workflow: writing('w'),
    gate: { position: exit },
    votes: [score(2), score(9)],
    tells: ['assay.result.staged', 'revise', 'run.completed'],
  },
  'verifiers of which two are enough': {
    workflow: handing,
    gate: { verifiers: ['local.one', 'local.two', 'local.three'].map(agent_id => ({ agent_id })) },
    votes: [score(9)],
    tells: ['pass', 'output.harvested'],
  },
  'nobody who can judge, and a person who accepts': {
    workflow: writing('w'),
    votes: [says('no idea')],
    answer: 'accept',
    tells: ['assay.verification.held', 'assay.verification.resumed', 'interrupt.resolved', 'run.completed'],
  },
  'a person who refuses what was refused': {
    workflow: handing,
    gate: { behaviour: { on_fail: 'escalate', max_attempts: 1 } },
    votes: [score(2)],
    answer: 'reject',
    tells: ['interrupt.resolved', 'assay.result.withheld'],
  },
  'a gate that does not block': {
    workflow: writing('w'),
    gate: { behaviour: { blocking: false } },
    votes: [score(2)],
    tells: ['dws.verification.verdict_rendered', 'run.completed'],
  },
}

/** As its store holds them, and as the wire shows them. */
function findingsIn(runs: readonly CheckedRun[]): Finding[] {
  const bare = runs
    .filter(({ row }) => !row?.fork)
    .map(({ runId, events }) => ({ runId, events: events.map(({ secret: _secret, ...event }) => event) }))
  return [
    ...checkLog({ runs, complete: true }),
    ...bare.flatMap(run => checkLog({ runs: [run] })),
    ...bare.flatMap(run => checkLog({ runs: [run], dialect: 'openwop' })),
  ]
}

const wordsOf = ({ type, payload }: CheckedRun['events'][number]): unknown[] => {
  const { phase, verdict } = payload as { phase?: string; verdict?: string }
  return [type, phase, verdict]
}

test.each(Object.entries(STORIES))('L24–L26: %s', async (_title, story) => {
  const { rig, runId } = await gatedFamily(story)
  const runs = await runsIn(rig.store)
  expect(findingsIn(runs)).toEqual([])
  const run = runs.find(one => one.runId === runId)
  expect(run?.events.flatMap(wordsOf)).toEqual(expect.arrayContaining([...story.tells]))
})

test('L24, L29, R-VERIFY-22: every replay and branch of a run that was sent back', async () => {
  const { rig, engine, runId, wait } = await gatedFamily(
    STORIES['a worker’s result that is sent back and passes then'] as Story,
  )
  const { length } = await rig.store.readEvents(runId, 0)
  for (let fromSeq = 0; fromSeq <= length; fromSeq += 1)
    for (const mode of ['replay', 'branch'] as const) await engine.fork({ tenant: 't1', runId, mode, fromSeq })
  await wait()
  const runs = await runsIn(rig.store)
  expect(runs.length).toBeGreaterThan(length)
  expect(checkLog({ runs, complete: true })).toEqual([])
})

test.each([
  ['what the work has cost', 'work', 'execution'],
  ['what its votes have cost', 'cost', undefined],
])('L24d R-DWS-27: a record that tells otherwise %s is found', async (_title, part, ledger) => {
  const { rig } = await gatedFamily(STORIES['an agent’s result that is sent back and passes then'] as Story)
  const runs = structuredClone(await runsIn(rig.store))
  const record = runs
    .flatMap(({ events }) => events)
    .find(({ payload }) => (payload as { artifactType?: string }).artifactType === 'dws.verification-result')
  const { content } = record!.secret as { content: { [part: string]: { [name: string]: unknown } } }
  const told = ledger === undefined ? content[part]! : (content[part]![ledger] as { [name: string]: unknown })
  told.tokens = Number(told.tokens) + 1
  expect(checkLog({ runs, complete: true }).map(({ rule }) => rule)).toContain('L24d')
})
