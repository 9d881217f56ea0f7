import { describe, expect, test } from 'vitest'
import { type Sketch, sketch } from '../../testing/workflow.js'
import { unknownInputs } from './unknown-inputs.js'

const unknown = (of: Partial<Sketch>) =>
  unknownInputs(
    sketch({ variables: [{ name: 'topic', type: 'string' }], nodes: { a: 'core.noop' }, ...of } as Sketch),
    ['topic', 'topik'],
  )

describe('inputs of unknown name', () => {
  test('are those that no variable has', () => {
    expect(unknown({})).toEqual(['topik'])
    expect(unknown({ variables: [] })).toEqual(['topic', 'topik'])
  })

  test('are none where a node takes whatever there is', () => {
    const agent = { type: 'core.agent', config: { agentId: 'local.test.agent' } }
    expect(unknown({ nodes: { a: 'core.start' } })).toEqual([])
    expect(unknown({ nodes: { a: agent } })).toEqual([])
    const given = { ...agent, inputs: { task: { type: 'variable', variableName: 'topic' } } }
    expect(unknown({ nodes: { a: given } } as unknown as Partial<Sketch>)).toEqual(['topik'])
  })
})
