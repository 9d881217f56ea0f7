import type { ForkRun } from '../../src/engine/api.js'
import type { Engine } from '../../src/engine/runtime/engine.js'
import type { CheckInput } from '../../src/log-check/checked.js'
import { type Choose, pick } from '../../src/log-check/testing/choice.js'
import { engineRig, type Rig, register, startRun } from '../../src/testing/engine-rig.js'
import { JOURNAL_WORKFLOWS, journalWorld, SCENES, type Scene } from './journal-scenes.js'
import { runsIn } from './stored-runs.js'

const SCOPES = ['team', 'others', undefined]
const FORKS = 6

/**
 * Everything that the real engine's store holds once every scene of the journal has been told, in scopes that they share or
 * do not, with branches and replays of what came of them. A function of its choices.
 */
export async function journalRuns(choose: Choose): Promise<CheckInput> {
  const rig = engineRig()
  const engine = await rig.host(journalWorld(rig.store))
  await register(engine, ...JOURNAL_WORKFLOWS)
  for (const scene of Object.keys(SCENES) as Scene[]) await told(rig, engine, scene, choose)
  for (let i = 0; i < FORKS; i += 1)
    for (const mode of ['branch', 'replay'] as const) {
      const rows = await rig.store.listRuns({ tenant: 't1', limit: 1_000 })
      const roots = rows.filter(({ parentRunId }) => parentRunId === null)
      const { runId, length } = pick(choose, roots)
      await fork(engine, { tenant: 't1', runId, mode, fromSeq: i === 0 ? 0 : choose(length) })
      await pass(rig)
    }
  await engine.stop(0)
  return { runs: await runsIn(rig.store), complete: true }
}

/** A branch of a replay where work is held is sent to the run that did that work, and is taken there. */
async function fork(engine: Engine, request: ForkRun): Promise<void> {
  const answer = await engine.fork(request)
  if (answer.ok) return
  const { sourceRunId, fromSeq } = ('refusal' in answer && answer.refusal.details) || {}
  if (typeof sourceRunId !== 'string' || sourceRunId === request.runId) throw new Error(JSON.stringify(answer))
  await fork(engine, { ...request, runId: sourceRunId, fromSeq: Number(fromSeq) })
}

/** Where two edit one file, the other one begins while the first has not come to it yet. */
async function told(rig: Rig, engine: Engine, scene: Scene, choose: Choose): Promise<void> {
  const scopeId = pick(choose, SCOPES)
  const more = scopeId === undefined ? {} : { scopeId }
  await startRun(engine, scene, more)
  if (scene === 'edited') await startRun(engine, 'written', more)
  await pass(rig)
}

async function pass({ clock }: Rig): Promise<void> {
  for (let i = 0; i < 4; i += 1) await clock.advance(1_500)
}
