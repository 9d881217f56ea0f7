import { describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import { defineWorkflow, expression, output, value, variable } from './define-workflow.js'

describe('a workflow in TypeScript', () => {
  it('is the same JSON that a YAML file says', () => {
    const made = defineWorkflow({
      id: 'announce',
      variables: [{ name: 'notes', type: 'string', required: true }],
      nodes: {
        ask: { type: 'core.approvalGate', config: { title: 'Publish?', actions: ['accept', 'reject'] } },
        publish: {
          type: 'core.http',
          config: { method: 'POST', url: 'https://releases.example.com/notes' },
          inputs: { body: expression('{"text": variables.notes}') },
          settings: { maxRetries: 5 },
        },
        end: {
          type: 'core.end',
          inputs: { id: output('publish', 'body'), notes: variable('notes'), by: value('assay') },
        },
        refused: { type: 'core.end' },
      },
      edges: ['ask > publish', 'ask.reject > refused', { path: 'publish > end', triggerRule: 'all_success' }],
    })
    const written = parse(`
      id: announce
      variables: [{ name: notes, type: string, required: true }]
      nodes:
        - { id: ask, typeId: core.approvalGate, config: { title: 'Publish?', actions: [accept, reject] } }
        - id: publish
          typeId: core.http
          config: { method: POST, url: https://releases.example.com/notes }
          inputs: { body: { type: expression, expression: '{"text": variables.notes}' } }
          settings: { maxRetries: 5 }
        - id: end
          typeId: core.end
          inputs:
            id: { type: connection, nodeId: publish, outputKey: body }
            notes: { type: variable, variableName: notes }
            by: { type: static, value: assay }
        - { id: refused, typeId: core.end }
      edges:
        - { sourceNodeId: ask, targetNodeId: publish }
        - { sourceNodeId: ask, sourceOutput: reject, targetNodeId: refused }
        - { sourceNodeId: publish, targetNodeId: end, triggerRule: all_success }`)
    expect(made).toEqual(written)
  })

  it('whose nodes or edges are not what there can be is no TypeScript', () => {
    const site = 'https://a.example'
    const wrong = [
      // @ts-expect-error: there is no such method
      defineWorkflow({ id: 'a', nodes: { a: { type: 'core.http', config: { method: 'GRAB', url: site } } } }),
      // @ts-expect-error: there is no such type of node
      defineWorkflow({ id: 'b', nodes: { a: { type: 'core.htpp' } } }),
      // @ts-expect-error: there is no such node
      defineWorkflow({ id: 'c', nodes: { a: { type: 'core.noop' }, b: { type: 'core.noop' } }, edges: ['a > c'] }),
      // @ts-expect-error: a delay has no such field
      defineWorkflow({ id: 'd', nodes: { a: { type: 'core.delay', config: { delayMS: 100 } } } }),
    ]
    expect(wrong).toHaveLength(4)
  })
})
