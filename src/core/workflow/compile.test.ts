import { describe, expect, it } from 'vitest'
import { type Sketch, sketch } from '../../testing/workflow.js'
import { compile, isPlan } from './compile.js'
import { coreNodeTypes } from './nodes/registry.js'

const workshop = { nodeTypes: new Map(coreNodeTypes.map(type => [type.typeId, type])), capabilities: new Set<string>() }
const build = (workflow: Sketch) => compile(sketch(workflow), 'digest', workshop)

describe('compiling a workflow', () => {
  it.each<[string, Sketch, string]>([
    ['a cycle', { nodes: { a: 'core.noop', b: 'core.noop' }, edges: ['a > b', 'b > a'] }, 'a → b → a is a cycle'],
    ['an edge to itself', { nodes: { a: 'core.noop' }, edges: ['a > a'] }, 'is a cycle'],
    ['an edge to nowhere', { nodes: { a: 'core.noop' }, edges: ['a > gone'] }, '"gone" does not exist'],
    ['an edge from nowhere', { nodes: { a: 'core.noop' }, edges: ['gone > a'] }, '"gone" does not exist'],
    ['an unknown node type', { nodes: { a: 'core.nope' } }, 'typeId "core.nope" is not known here'],
    [
      'a port that does not exist',
      {
        nodes: { c: { type: 'core.conditional', config: { expression: 'true' } }, a: 'core.noop' },
        edges: ['c.maybe > a'],
      },
      'must be one of true, false',
    ],
    [
      'a condition that cannot be read',
      {
        nodes: { a: 'core.noop', b: 'core.noop' },
        edges: [{ path: 'a > b', condition: { type: 'expression', expression: '1 +' } }],
      },
      'cannot be read as CEL',
    ],
    [
      'a bad regular expression',
      {
        nodes: { a: 'core.noop', b: 'core.noop' },
        edges: [{ path: 'a > b', condition: { type: 'regex', left: 'x', right: '(' } }],
      },
      'must be a regular expression',
    ],
    [
      'an input expression that cannot be read',
      { nodes: { a: { type: 'core.identity', inputs: { payload: { type: 'expression', expression: ')' } } } } },
      'inputs.payload cannot be read as CEL',
    ],
    [
      'a connection to nowhere',
      {
        nodes: {
          a: { type: 'core.identity', inputs: { payload: { type: 'connection', nodeId: 'gone', outputKey: 'x' } } },
        },
      },
      'node "gone" does not exist',
    ],
    [
      'a configuration its node type refuses',
      { nodes: { a: 'core.subWorkflow' } },
      'config.workflowId is required: the id of a workflow',
    ],
    [
      'a loop nobody leads back to',
      { nodes: { l: { type: 'core.loop', config: { maxIterations: 1 } }, a: 'core.noop' }, edges: ['l.body > a'] },
      'back to it',
    ],
    [
      'a way out of a loop body',
      {
        nodes: { l: { type: 'core.loop', config: { maxIterations: 1 } }, a: 'core.noop', b: 'core.noop' },
        edges: ['l.body > a', 'a > l', 'l.done > b', 'a > b'],
      },
      'is inside loop',
    ],
    ['a loop without a body', { nodes: { l: { type: 'core.loop', config: { maxIterations: 1 } } } }, 'has no body'],
    [
      'a setting that is not a number',
      { nodes: { a: { type: 'core.noop', settings: { retryDelayMs: '1s' as never } } } },
      'settings.retryDelayMs must be a whole number',
    ],
    [
      'a setting out of range',
      { nodes: { a: { type: 'core.noop', settings: { retryBackoffFactor: 0.5 } } } },
      'settings.retryBackoffFactor must be a number from 1 to 100',
    ],
    [
      'a name that is both variable and channel',
      { nodes: { a: 'core.noop' }, variables: [{ name: 'x', type: 'string' }], channels: { x: { reducer: 'append' } } },
      'is also a channel',
    ],
  ])('R-FLOW-1: %s is refused with what to change', (_name, workflow, message) => {
    const result = build(workflow)
    expect(isPlan(result)).toBe(false)
    expect(result).toMatchObject({ code: 'validation_error', message: expect.stringContaining(message) })
  })

  it('core §2.1 R-REST-4: a node type that needs a capability names it', () => {
    expect(build({ nodes: { c: 'core.conversationGate' } })).toMatchObject({
      code: 'capability_required',
      details: { requiredCapability: 'conversationPrimitive', offendingTypeId: 'core.conversationGate', nodeId: 'c' },
    })
  })

  it('the largest workflow allowed compiles, one more node does not', () => {
    const nodes = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, i) => [`n${i}`, 'core.noop']))
    const edges = Array.from({ length: 1_999 }, (_, i) => `n${i} > n${i + 1}`)
    expect(isPlan(build({ nodes: nodes(2_000), edges }))).toBe(true)
    expect(build({ nodes: nodes(2_001) })).toMatchObject({ message: expect.stringContaining('the limit is 2000') })
  })
})
