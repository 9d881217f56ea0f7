import { describe, expect, test } from 'vitest'
import type { Json, JsonObject } from '../core/json.js'
import type { Gate } from '../core/verification/gate.js'
import type { Plan } from '../core/workflow/plan.js'
import { outputPathProblems } from './output-paths.js'

const AGENT = 'local.test.writer'

const plan = (typeId: string, config: JsonObject, hands = false) =>
  ({
    nodes: [{ index: 0, node: { id: 'n', typeId, config }, type: { typeId, ...(hands && { hands }) } }],
    indexOf: new Map([['n', 0]]),
  }) as unknown as Plan

const gate = (path: string, position: JsonObject = {}) =>
  ({
    position: { phase_id: 'n', placement: 'phase_exit', ...position },
    evaluation_criteria: [{ dimension: 'exact', probes: [{ probe_id: 'exact-1', type: 'regex', path, pattern: 'x' }] }],
  }) as unknown as Gate

const problems = (schema: Json, path: string, position: JsonObject = {}) =>
  outputPathProblems(gate(path, position), plan('core.agent', { agentId: AGENT }), () => schema as JsonObject)

const CLOSED = {
  type: 'object',
  properties: { text: { type: 'string' }, lines: { type: 'array', items: { $ref: '#/$defs/line' } } },
  additionalProperties: false,
  $defs: { line: { type: 'object', properties: { n: { type: 'integer' } }, additionalProperties: false } },
}

describe('a path of a probe against the return schema of the judged agent', () => {
  test.each(['', '/text', '/lines', '/lines/0', '/lines/0/n', '/lines/-/n'])('%j can be there', path => {
    expect(problems(CLOSED, path)).toEqual([])
  })

  test.each(['/txet', '/result/text', '/text/words', '/lines/first', '/lines/0/m', '/lines/0/n/x'])(
    '%s leads nowhere, and what there is is told',
    path => {
      expect(problems(CLOSED, path)).toEqual([
        `probe exact-1 of exact: path ${path} leads nowhere by the return schema of agent ${AGENT}; it has /text, /lines`,
      ])
    },
  )

  test.each<[string, Json, string, number]>([
    ['what is not closed is open', { properties: { a: {} } }, '/b', 0],
    ['a schema of further members holds for them', { additionalProperties: { type: 'string' } }, '/b/c', 1],
    ['members by pattern may be there', { patternProperties: { '^x': {} }, additionalProperties: false }, '/b', 0],
    ['one of several is enough', { anyOf: [{ type: 'string' }, CLOSED] }, '/text', 0],
    ['none of several', { oneOf: [{ type: 'string' }, { type: 'number' }] }, '/text', 1],
    ['all of several', { allOf: [{}, { type: 'object', properties: { a: false } }] }, '/a', 1],
    ['one of the types', { type: ['null', 'object'] }, '/a', 0],
    ['a circle of references', { $ref: '#' }, '/a', 0],
    ['a reference to elsewhere', { $ref: 'https://x.example/s' }, '/a', 0],
  ])('%s', (_, schema, path, count) => {
    expect(problems(schema, path)).toHaveLength(count)
  })

  test('what a worker brings stands under its name, and only that is looked at', () => {
    const at = (path: string, worker_id = AGENT) =>
      outputPathProblems(gate(path, { worker_id }), plan('core.dispatch', {}, true), () => CLOSED)
    expect([at('/result/text'), at('/other/x')]).toEqual([[], []])
    expect(at('/result/txet')).toEqual([expect.stringContaining('it has /result/text, /result/lines')])
    expect(at('/result/txet', 'some-workflow')).toEqual([])
  })

  test('nothing is said of what a tool brings, of the exit, and of agents without a schema', () => {
    expect(problems(CLOSED, '/x', { tool_name: 'mcp:a.b', placement: 'checkpoint' })).toEqual([])
    expect(problems(CLOSED, '/x', { placement: 'workflow_exit' })).toEqual([])
    expect(outputPathProblems(gate('/x'), plan('core.agent', { agentId: AGENT }), () => undefined)).toEqual([])
  })
})
