import { describe, expect, it } from 'vitest'
import { gateAt, inspects, judged, poor, works } from '../../testing/gate-stories.js'
import { given, type Scenario } from '../../testing/given-when-then.js'
import { agentFlow, agentNode, answered, briefs, eventsOf, owedTo, says } from '../../testing/invocations.js'
import { answer, payloads } from '../../testing/orchestration.js'
import { openInterrupts } from '../interrupt/decide.js'
import { statusOf } from '../run/state.js'
import { boundGateAt } from './state.js'

/** R-SEC-1, R-VERIFY-5: of what is before a gate the log tells ids, enums, numbers; what it says is kept beside it. */

const HIDDEN = '[REDACTED]'
const RESULT = 'REJECTED-CONTENT'

/** All that readers of the log see. */
const told = (run: Scenario): string => JSON.stringify(run.log.map(({ payload }) => payload))

const atAgent = (more: Parameters<typeof gateAt>[2] = {}, confidence?: number) => {
  const gates = [gateAt('a', 'phase_exit', more)]
  const flow = agentFlow({ config: { resultVariable: 'got' } })
  return says(briefs(given(flow).start({}, undefined, gates), { threshold: 0.5 }), answered(RESULT, confidence))
}

describe('the result of an agent before a blocking gate', () => {
  it('R-SEC-1: is not told when it is decided, nor when it is rejected', () => {
    const run = judged(atAgent({ behaviour: { max_attempts: 1 } }), poor())
    expect(eventsOf(run, 'agent.decided')).toMatchObject([
      { payload: { decision: HIDDEN }, secret: { decision: RESULT } },
    ])
    expect(statusOf(run.state)).toBe('failed')
    expect(told(run)).not.toContain(RESULT)
  })

  it('is told with the end of its node when it has passed', () => {
    const run = judged(atAgent())
    expect(payloads(run, 'node.completed')).toMatchObject([{ outputs: { result: RESULT } }])
    expect(payloads(run, 'variable.changed')).toMatchObject([{ name: 'got', next: RESULT }])
  })

  it('is told at once where the gate lets everything by', () => {
    const run = atAgent({ behaviour: { blocking: false } })
    expect(payloads(run, 'agent.decided')).toMatchObject([{ decision: RESULT }])
  })

  it('R-LOWC-1: is shown to the person who is asked about it, and to nobody else', () => {
    const run = atAgent({}, 0.1)
    expect(statusOf(run.state)).toMatch(/^waiting-/)
    expect(told(run)).not.toContain(RESULT)
    expect(payloads(run, 'interrupt.requested')).toMatchObject([{ data: { observed: 0.1, withheld: ['decision'] } }])
    const [open] = openInterrupts(run.rules.plan, run.state)
    expect(open!.asked).toMatchObject({ data: { decision: RESULT }, rest: { decision: RESULT } })
    const accepted = run.when(answer('a', { action: 'accept' }))
    expect(eventsOf(accepted, 'assay.result.staged')).toMatchObject([{ secret: { result: RESULT } }])
    expect(told(accepted)).not.toContain(RESULT)
  })

  it('nor is what that person writes in its place', () => {
    const run = atAgent({}, 0.1).when(answer('a', { action: 'edit-accept', editedArtifactData: 'EDITED-CONTENT' }))
    expect(eventsOf(run, 'assay.result.staged')).toMatchObject([{ secret: { result: 'EDITED-CONTENT' } }])
    expect(told(run)).not.toContain('EDITED-CONTENT')
  })
})

describe('the result of an agent that its workflow declares sensitive', () => {
  const SECRET = 'HUSH-HUSH'
  const flows = {
    'by its variable': agentFlow(
      { config: { resultVariable: 'got' } },
      { variables: [{ name: 'got', type: 'string', sensitive: true }] },
    ),
    'by its port': agentFlow({}, { nodes: { a: { ...agentNode(), outputSensitivity: { result: true } } } }),
  }
  const decides = (flow: Parameters<typeof given>[0], confidence: number) =>
    says(briefs(given(flow).start({}), { threshold: 0.5 }), answered(SECRET, confidence))

  it.each(Object.entries(flows))('R-SEC-1 R-MAP-10: %s, is in no payload, gate or no gate', (_how, flow) => {
    const run = decides(flow, 0.9)
    expect(statusOf(run.state)).toBe('completed')
    expect(eventsOf(run, 'agent.decided')).toMatchObject([
      { payload: { decision: HIDDEN }, secret: { decision: SECRET } },
    ])
    expect(told(run)).not.toContain(SECRET)
  })

  it.each(Object.entries(flows))(
    'R-LOWC-1: %s, is not shown to a person either, who can let it stand',
    (_how, flow) => {
      const run = decides(flow, 0.1)
      expect(payloads(run, 'interrupt.requested')).toMatchObject([{ data: { observed: 0.1, decision: HIDDEN } }])
      const [open] = openInterrupts(run.rules.plan, run.state)
      expect(open!.asked.rest).toBeUndefined()
      expect(open!.asked.shown).toMatchObject({ decision: HIDDEN })
      const accepted = run.when(answer('a', { action: 'accept' }))
      expect(eventsOf(accepted, 'node.completed')).toMatchObject([{ secret: { outputs: { result: SECRET } } }])
      expect(told(accepted)).not.toContain(SECRET)
    },
  )
})

const worker = { type: 'core.subWorkflow', config: { workflowId: 'w', outputMapping: { got: 'x' } } }
const sub = (more: Parameters<typeof gateAt>[2] = {}, config = {}) =>
  given({ nodes: { a: { ...worker, config: { ...worker.config, ...config } } } }).start({}, undefined, [
    gateAt('a', 'phase_exit', more),
  ])

describe('a person who is asked by a gate', () => {
  const asked = (): Scenario =>
    judged(works(sub({ behaviour: { max_attempts: 1, on_fail: 'escalate' } }), 'child-1', { x: RESULT }), poor())

  it('R-SEC-1: sees the result and the findings; the log names what it leaves out', () => {
    const run = asked()
    expect(payloads(run, 'interrupt.requested')).toMatchObject([
      {
        data: {
          artifactId: 'child-1',
          artifactType: 'verification',
          gateId: 'g1',
          attempt: 1,
          reason: 'exhausted',
          actions: ['accept', 'reject'],
          withheld: ['artifactData', 'findings'],
        },
      },
    ])
    expect(told(run)).not.toContain(RESULT)
    expect(told(run)).not.toContain('not there')
    const [open] = openInterrupts(run.rules.plan, run.state)
    expect(open!.asked.rest).toMatchObject({
      artifactData: { x: RESULT },
      findings: [{ description: 'correctness is not there' }],
    })
    expect(open!.asked.data).toMatchObject(open!.asked.rest!)
  })

  it('decides on it as before', () => {
    expect(asked().when(answer('a', { action: 'accept' })).state).toMatchObject({ variables: { got: RESULT } })
  })
})

describe('the run of a worker whose result has to pass', () => {
  const startOf = (run: Scenario) => owedTo(run, 'start-child')!

  it('is marked with the gates that block', () => {
    expect(startOf(sub())).toMatchObject({ gatedBy: ['g1'] })
    expect(startOf(sub({ behaviour: { blocking: false } }))).not.toHaveProperty('gatedBy')
  })

  it('is not marked by a gate of another worker, or where nothing is taken from it', () => {
    const { position } = boundGateAt(sub().state as never, 0).gate
    expect(startOf(sub({ position: { ...position, worker_id: 'other' } }))).not.toHaveProperty('gatedBy')
    expect(startOf(sub({}, { outputMapping: {} }))).not.toHaveProperty('gatedBy')
  })

  it('says so when it completes; a run that is nobody’s worker does not', () => {
    const started = {
      workflowId: 'w',
      workflowDigest: 'digest',
      inputs: {},
      transport: 'rest' as const,
      engineVersion: '3',
      owner: { tenant: 't1' },
    }
    const noop = () => given({ nodes: { a: 'core.noop' } })
    const marked = noop().when({ type: 'StartRun', runId: 'r', started: { ...started, gatedBy: ['g1'] } } as never)
    expect(payloads(marked, 'run.completed')).toEqual([{ outputs: {}, gatedBy: ['g1'] }])
    const plain = noop().when({ type: 'StartRun', runId: 'r', started } as never)
    expect(payloads(plain, 'run.completed')).toEqual([{ outputs: {} }])
  })
})

describe('a verifier', () => {
  it('R-DWS-33 R-SEC-1: is given its bundle where no reader of its log sees it', () => {
    const owed = owedTo(inspects(works(sub(), 'child-1', { x: RESULT })), 'start-child')!
    expect(owed.inputs).toEqual({ agentId: 'assay.verifier' })
    expect(owed.withheld).toMatchObject({ bundle: { output: { x: RESULT } }, schema: {} })
  })
})
