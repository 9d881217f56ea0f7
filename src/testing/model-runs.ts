import type { Brief } from '../core/invocation/brief.js'
import type { EnvelopeKind } from '../core/replay/events.js'
import type { AgentFailure } from '../engine/ports/agents.js'
import { NOTHING_TODAY } from '../engine/ports/today.js'
import { agentsDouble, type Said } from './agents.js'
import { engineRig, type Rig, register, startRun } from './engine-rig.js'
import { settled } from './manual-clock.js'

export const ASK = 'ask'

/** One node that asks a model by itself, and another after it. */
export const ASKING = {
  id: 'asking',
  nodes: {
    [ASK]: { type: 'core.ai.structuredOutput', config: { provider: 'mock', model: 'mini', outputSchema: {} } },
    after: 'core.noop',
  },
  edges: [`${ASK} > after`],
}

export type Asking = {
  readonly brief?: Partial<Brief> & Pick<AgentFailure, 'lacks'>
  readonly said?: Said['said']
  /** What the program of the provider has at the time of the replay. */
  readonly today?: EnvelopeKind
  readonly fromSeq?: number
}

/** Tells a run of it and, where `today` is said, its replay. */
export async function askedOnce({
  brief = {},
  said,
  today,
  fromSeq = 0,
}: Asking): Promise<{ rig: Rig; runIds: string[] }> {
  const rig = engineRig()
  const agents = agentsDouble({
    agents: { [`host:prompt:${ASK}`]: { provider: 'mock', model: 'mini', ...brief } },
    think: () => ({ said: said ?? { kind: 'answered', result: { valid: true } } }),
  })
  const engine = await rig.host({ agents, today: { ...NOTHING_TODAY, envelope: () => today } })
  await register(engine, ASKING)
  const runId = await startRun(engine, ASKING.id)
  await settled()
  if (today === undefined) return { rig, runIds: [runId] }
  const fork = await engine.fork({ tenant: 't1', runId, mode: 'replay', fromSeq })
  if (!fork.ok || !('value' in fork)) throw new Error('a replay is never refused')
  await settled()
  return { rig, runIds: [runId, fork.value.runId] }
}
