import type { PeerReceipt } from '../../core/handoff/peer-receipt.js'
import type { BoundGate } from '../../core/verification/gate.js'
import { agentsDouble } from '../agents.js'
import { engineRig, type Rig, register, startRun } from '../engine-rig.js'
import { score } from '../gated-families.js'
import { boundGate } from '../gates.js'
import { next, scripted, terminate } from '../orchestration.js'
import { PeerDouble } from './peer-double.js'
import { standardsDouble } from '../verification.js'
import type { Sketch } from '../workflow.js'

/** What has called the host, in the tests of runs that a peer has started. */
export const CALLER = {
  hostId: 'alpha.example',
  runId: 'r0',
  eventId: 'r0:5',
  cause: 'core.dispatch' as const,
  wellKnownUrl: 'http://alpha.example/.well-known/openwop',
}

const EVIDENCE: PeerReceipt = {
  evidence: true,
  keyId: '0123456789abcdef',
  digest: `sha256:${'c'.repeat(64)}`,
  attempts: 2,
  passes: 1,
  label: 'verified',
}

const TEXT = [{ name: 'text', type: 'string' as const }]
const WAITS = { id: 'waits', nodes: { wait: { type: 'core.delay', config: { delayMs: 86_400_000 } } } }
const WORK: Sketch = {
  id: 'w',
  nodes: {
    a: { type: 'core.subWorkflow', config: { workflowId: 'peer:beta/draft', outputMapping: { text: 'text' } } },
  },
  variables: TEXT,
}
/** Nothing of it can name another host before the verdict over what it leaves. */
const JUDGED: Sketch = {
  id: 'judged',
  nodes: {
    a: { type: 'core.setVariable', config: { name: 'text' }, inputs: { value: { type: 'static', value: 'of bees' } } },
  },
  variables: TEXT,
}
const LOOP: Sketch = {
  ...scripted([next('peer:beta/draft'), next('waits'), terminate], {
    dispatch: { outputMapping: { text: 'text' } },
    variables: TEXT,
  }),
  id: 'loop',
}

/**
 * A family that has much of what can be told of peers: a peer's result is judged and merged, another peer is silent and
 * heard again, a third is lost and let go of. The first run was started by a peer itself, and so was one that is judged
 * when it ends.
 */
export async function peerRuns(): Promise<Rig> {
  const rig = engineRig()
  const peers = new PeerDouble()
  const agents = agentsDouble({ agents: { 'assay.verifier': {} }, think: () => score(9) })
  const bound: BoundGate = { ...boundGate(), hash: 'a'.repeat(64) }
  const position = { workflow_id: 'judged', phase_id: 'a', placement: 'workflow_exit' as const }
  const leaving: BoundGate = { ...boundGate({ gate_id: 'g2', position }), hash: 'b'.repeat(64) }
  const engine = await rig.host({ agents, peers, standards: standardsDouble({ w: [bound], judged: [leaving] }) })
  await register(engine, WORK, LOOP, WAITS, JUDGED, { ...WORK, id: 'free' })
  await startRun(engine, 'w', { foreign: { parent: CALLER, depth: 1 } })
  peers.ends('there-1', { text: 'about bees' }, 'completed', EVIDENCE)
  await rig.clock.advance(60_000)
  await startRun(engine, 'judged', { foreign: { parent: { ...CALLER, runId: 'r2', eventId: 'r2:5' }, depth: 1 } })
  await rig.clock.advance(60_000)
  await startRun(engine, 'free')
  peers.isDown = true
  await rig.clock.advance(35_000)
  peers.isDown = false
  await rig.clock.advance(5_000)
  peers.ends('there-2', { text: 'about wasps' }, 'completed', { evidence: false, why: 'other-run' })
  await rig.clock.advance(40_000)
  await startRun(engine, 'loop')
  peers.isDown = true
  await rig.clock.advance(60_000)
  peers.isDown = false
  await rig.clock.advance(40_000)
  return rig
}
