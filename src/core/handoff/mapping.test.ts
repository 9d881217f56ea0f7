import { describe, expect, it } from 'vitest'
import { given, type Scenario } from '../../testing/given-when-then.js'
import { begins, ends, next, payloads, scripted, terminate } from '../../testing/orchestration.js'
import type { JsonObject } from '../json.js'
import { mapInputs, termsFor } from './mapping.js'

const owedInputs = (run: Scenario) =>
  run.owed.flatMap(effect =>
    effect.kind === 'start-child' ? [{ inputs: effect.inputs, unset: effect.unset, hidden: effect.hiddenInputs }] : [],
  )

const two = (dispatch: JsonObject, inputs: JsonObject = {}) =>
  given(scripted([next('a', 'b'), terminate], { dispatch })).start(inputs)

/** Both workers, one after the other, with what each brings back. */
const through = (run: Scenario, ...results: JsonObject[]) => {
  results.forEach((variables, worker) => {
    begins(run, `child-${worker}`, { worker })
    ends(run, `child-${worker}`, variables)
  })
  return run
}

describe('mapping inputs', () => {
  it('R-MAP-1: child name from parent variable, and nothing else', () => {
    const run = two({ inputMapping: { task: 'goal', depth: 'n' } }, { goal: 'g', n: 0, other: 'x' })
    expect(owedInputs(run)).toEqual([{ inputs: { task: 'g', depth: 0 }, unset: [], hidden: [] }])
  })

  it('R-MAP-1: a worker’s own map stands in place of the default, also when it is empty', () => {
    const run = two({ inputMapping: { x: 'p' }, perWorkerInputMappings: { a: { y: 'q' }, b: {} } }, { p: 1, q: 2 })
    expect(owedInputs(run)).toMatchObject([{ inputs: { y: 2 }, unset: [] }])
    expect(owedInputs(through(run, {}))).toMatchObject([{ inputs: {}, unset: [] }])
  })

  it('R-MAP-1: workers without a map of their own keep the default', () => {
    const run = two({ inputMapping: { x: 'p' }, perWorkerInputMappings: { b: { y: 'p' } } }, { p: 1 })
    expect(owedInputs(run)).toMatchObject([{ inputs: { x: 1 } }])
    expect(owedInputs(through(run, {}))).toMatchObject([{ inputs: { y: 1 } }])
  })

  it('R-MAP-2: what is not set is known to be unset; null is a value', () => {
    const run = two({ inputMapping: { x: 'p', y: 'q', z: 'r' } }, { q: null, r: false })
    expect(owedInputs(run)).toEqual([{ inputs: { y: null, z: false }, unset: ['x'], hidden: [] }])
  })

  it('R-MAP-2: names that every object has are not set either', () => {
    const { mapped, unset } = mapInputs(termsFor({ inputMapping: { x: 'toString', y: '__proto__' } }, 'a'), {})
    expect([mapped, unset]).toEqual([{}, ['x', 'y']])
    expect(termsFor({ perWorkerInputMappings: {}, inputMapping: { x: 'p' } }, 'constructor').inputs).toEqual([
      ['x', 'p'],
    ])
  })

  it('R-MAP-1: what is mapped goes above what the node’s ports give', () => {
    const sketch = scripted([next('a')], { dispatch: { inputMapping: { x: 'p' } } })
    const dispatch = {
      ...(sketch.nodes.dispatch as { type: string }),
      inputs: { x: { type: 'static' as const, value: 'port' }, y: { type: 'static' as const, value: 'port' } },
    }
    const run = given({ ...sketch, nodes: { ...sketch.nodes, dispatch } }).start({ p: 'mapped' })
    expect(owedInputs(run)).toMatchObject([{ inputs: { x: 'mapped', y: 'port' } }])
  })

  it('R-MAP-8: is taken once, when the worker’s turn comes; later changes do not reach it', () => {
    const run = given({
      nodes: {
        sub: { type: 'core.subWorkflow', config: { workflowId: 'w', inputMapping: { x: 'p' } } },
        wait: { type: 'core.delay', config: { ms: 10 } },
        set: { type: 'core.setVariable', config: { name: 'p' }, inputs: { value: { type: 'static', value: 2 } } },
      },
      edges: ['wait > set'],
    }).start({ p: 1 })
    run.after(10)
    expect(run.state).toMatchObject({ variables: { p: 2 } })
    expect(owedInputs(run)).toMatchObject([{ inputs: { x: 1 } }])
  })

  it('R-MAP-6: a turn maps what the turns before have left', () => {
    const dispatch = { inputMapping: { x: 'got' }, outputMapping: { got: 'y' } }
    const run = given(scripted([next('a'), next('b')], { dispatch })).start()
    expect(owedInputs(run)).toMatchObject([{ inputs: {}, unset: ['x'] }])
    expect(owedInputs(through(run, { y: 5 }))).toMatchObject([{ inputs: { x: 5 }, unset: [] }])
  })
})

describe('mapping outputs', () => {
  it('R-MAP-3 R-HANDOFF-9: parent variable from child name, told in the order of the mapping', () => {
    const run = through(two({ outputMapping: { second: 'y', first: 'x', third: 'x' } }), { x: 1, y: 2, z: 3 })
    expect(payloads(run, 'variable.changed')).toEqual([
      { name: 'second', next: 2, nodeId: 'dispatch' },
      { name: 'first', next: 1, nodeId: 'dispatch' },
      { name: 'third', next: 1, nodeId: 'dispatch' },
    ])
    expect(payloads(run, 'output.harvested')).toMatchObject([{ harvestedKeys: ['second', 'first', 'third'] }])
  })

  it('R-MAP-3: only the names that are mapped are asked of the child', () => {
    const run = begins(two({ outputMapping: { got: 'x', other: 'y' } }), 'child-0')
    expect(run.owed).toMatchObject([{ kind: 'watch-child', wanted: ['x', 'y'], attest: false }])
  })

  it('R-MAP-1 R-HANDOFF-5: a worker’s own map stands in place of the default; an empty one harvests nothing', () => {
    const dispatch = { outputMapping: { got: 'x' }, perWorkerOutputMappings: { a: { own: 'y' }, b: {} } }
    const run = through(two(dispatch), { x: 1, y: 2 }, { x: 3 })
    expect(run.state).toMatchObject({ phase: 'ended', variables: { own: 2 } })
    expect(run.state).not.toHaveProperty('variables.got')
    expect(payloads(run, 'output.harvested')).toMatchObject([{ workerId: 'a', harvestedKeys: ['own'] }])
  })

  it('R-MAP-4 R-HANDOFF-9: what the child does not have leaves the parent’s value as it is', () => {
    const run = through(two({ outputMapping: { got: 'x', other: 'y' } }, { got: 'kept' }), { y: null })
    expect(run.state).toMatchObject({ variables: { got: 'kept', other: null } })
    expect(payloads(run, 'output.harvested')).toMatchObject([{ harvestedKeys: ['other'] }])
  })

  it('R-MAP-4 R-HANDOFF-5: with a mapping and none of it there, the harvest is empty and told', () => {
    const run = through(two({ outputMapping: { got: 'toString' } }, { got: 'kept' }), {})
    expect(payloads(run, 'variable.changed')).toEqual([])
    expect(payloads(run, 'output.harvested')).toMatchObject([{ harvestedKeys: [] }])
  })

  it('R-MAP-5: nothing is written for a child that did not complete, whatever it brings', () => {
    const run = two({ outputMapping: { got: 'x' } }, { got: 'kept' })
    begins(run, 'child-0')
    ends(run, 'child-0', { x: 1 }, { status: 'failed' })
    expect(run.state).toMatchObject({ variables: { got: 'kept' } })
  })
})

describe('what must not be seen', () => {
  const secretive = (dispatch: JsonObject) =>
    given(
      scripted([next('a'), next('b')], { dispatch, variables: [{ name: 'key', type: 'string', sensitive: true }] }),
    ).start({ key: 'hunter2-secret' })
  const seen = (run: Scenario) => JSON.stringify(run.log.map(({ payload }) => payload))

  it('R-MAP-10: a sensitive parent variable reaches the child, and is named as hidden', () => {
    const run = secretive({ inputMapping: { token: 'key' } })
    expect(owedInputs(run)).toEqual([{ inputs: { token: 'hunter2-secret' }, unset: [], hidden: ['token'] }])
    expect(seen(run)).not.toContain('hunter2')
  })

  it('R-MAP-10: a sensitive child variable is merged masked, and stays hidden in the parent', () => {
    const run = secretive({ inputMapping: { token: 'got' }, outputMapping: { got: 'x' } })
    begins(run, 'child-0')
    ends(run, 'child-0', { x: 'swordfish' }, { hidden: ['x'] })
    expect(payloads(run, 'variable.changed')).toEqual([{ name: 'got', next: '[REDACTED]', nodeId: 'dispatch' }])
    expect(run.state).toMatchObject({ variables: { got: 'swordfish' } })
    expect(owedInputs(run)).toEqual([{ inputs: { token: 'swordfish' }, unset: [], hidden: ['token'] }])
    begins(run, 'child-1')
    ends(run, 'child-1', { x: 'swordfish again' })
    expect(seen(run)).not.toContain('swordfish')
  })

  it('R-MAP-10: a child that hands a secret of the parent back is masked all the same', () => {
    const run = secretive({ outputMapping: { got: 'x' } })
    begins(run, 'child-0')
    ends(run, 'child-0', { x: 'it is hunter2-secret' })
    expect(run.state).toMatchObject({ variables: { got: 'it is hunter2-secret' } })
    expect(seen(run)).not.toContain('hunter2')
  })

  it('R-MAP-10 R-HANDOFF-10: neither does the error of a child tell a secret', () => {
    const run = secretive({})
    begins(run, 'child-0')
    const error = { code: 'e', message: 'refused hunter2-secret', details: { key: 'hunter2-secret' } }
    ends(run, 'child-0', {}, { status: 'failed', error })
    expect(payloads(run, 'child.failed')).toMatchObject([{ error: { code: 'e', message: 'refused [REDACTED]' } }])
    expect(seen(run)).not.toContain('hunter2')
  })
})
