import { describe, expect, it } from 'vitest'
import type { Gate } from '../core/verification/gate.js'
import { boundGate } from '../testing/gates.js'
import { rulesFor } from '../testing/given-when-then.js'
import type { Sketch } from '../testing/workflow.js'
import { gateSourceProblems } from './gate-sources.js'

const agent = (agentId: string, more: object = {}) => ({ type: 'core.agent', config: { agentId, ...more } })

const flow: Sketch = {
  nodes: {
    fetch: 'core.identity',
    research: agent('local.test.researcher'),
    hush: { ...agent('local.test.other'), outputSensitivity: { result: true } },
    again: agent('local.test.writer'),
    write: agent('local.test.writer'),
    hand: { type: 'core.subWorkflow', config: { workflowId: 'w', outputMapping: { got: 'result' } } },
    after: 'core.identity',
  },
  edges: ['fetch > research', 'research > hush', 'hush > again', 'again > write', 'write > hand', 'hand > after'],
  variables: [
    { name: 'log', type: 'string' },
    { name: 'key', type: 'string', sensitive: true },
  ],
}
const { plan } = rulesFor(flow)

type Placement = Gate['position']['placement']

const problems = (more: Partial<Gate>, phase_id = 'write', placement: Placement = 'phase_exit', gates: Gate[] = []) => {
  const { gate } = boundGate({ position: { workflow_id: 'sketch', phase_id, placement }, ...more })
  return gateSourceProblems(gate, plan, gates)
}

describe('what a gate names of the run', () => {
  it.each(['inputs.log', 'nodes.fetch.output', 'nodes.research.output.result', 'knowledge:anything'])(
    'R-DWS-7: %s may be shown',
    ref => {
      expect(problems({ context: [ref] })).toEqual([])
    },
  )

  it.each([
    ['inputs.lok', 'names no variable of the workflow'],
    ['inputs.log.line', 'leads into a string'],
    ['inputs.key', 'is sensitive'],
    ['inputs.verificationFeedback', 'is what was said of an earlier attempt'],
    ['nodes.nobody.output', 'names no node of the workflow'],
    ['nodes.write.output', 'is the judged work itself'],
    ['nodes.again.output', 'is the work of whoever is judged'],
    ['nodes.after.output', 'does not end before "write" begins'],
    ['nodes.hush.output', 'is sensitive'],
    ['nodes.hush.output.result', 'is sensitive'],
  ])('R-DWS-9 R-DWS-11: %s is refused: it %s', (ref, why) => {
    expect(problems({ context: [ref] })).toEqual([expect.stringContaining(`context: ${ref} ${why}`)])
  })

  it('R-DWS-9: at the exit an agent’s work is a source only where a blocking gate lets it pass', () => {
    const at = (gates: Gate[]) => problems({ context: ['nodes.research.output'] }, 'write', 'workflow_exit', gates)
    const position = { workflow_id: 'sketch', phase_id: 'research', placement: 'phase_exit' as const }
    expect(at([])).toEqual([expect.stringContaining('no blocking gate has let pass')])
    expect(at([boundGate({ position, behaviour: { blocking: false } }).gate])).toHaveLength(1)
    expect(at([boundGate({ position, behaviour: { on_fail: 'conditional_pass' } }).gate])).toHaveLength(1)
    expect(at([boundGate({ position }).gate])).toEqual([])
    expect(problems({ context: ['nodes.fetch.output'] }, 'write', 'workflow_exit')).toEqual([])
  })

  it('R-DWS-9: values of the run are judged at its exit only, and those that it has', () => {
    expect(problems({ exit_values: ['variables.log'] })).toEqual([expect.stringContaining('this is phase_exit')])
    expect(problems({ exit_values: ['variables.lok'] }, 'write', 'workflow_exit')).toHaveLength(1)
    expect(problems({ exit_values: ['variables.verificationFeedback'] }, 'write', 'workflow_exit')).toHaveLength(1)
    expect(problems({ exit_values: ['variables.log'] }, 'write', 'workflow_exit')).toEqual([])
  })
})

describe('a path of a probe', () => {
  const looking = (path: string, phase: string, placement: Placement) => {
    const probes = [{ probe_id: 'p', type: 'equals' as const, path, value: 1 }]
    const position = { workflow_id: 'sketch', phase_id: phase, placement }
    return gateSourceProblems(boundGate({ position, criteria: [{ dimension: 'x', probes }] }).gate, plan, [])
  }

  it('that no result at that place can have is refused, with what is there', () => {
    expect(looking('/text', 'hand', 'phase_exit')).toEqual([
      'probe p of x: path /text leads nowhere; what is judged here has /result',
    ])
    expect(looking('/result/text', 'hand', 'phase_exit')).toEqual([])
    expect(looking('/text', 'write', 'workflow_exit')).toEqual([expect.stringContaining('has /outputs')])
    expect(looking('/text', 'write', 'phase_exit')).toEqual([])
  })
})
