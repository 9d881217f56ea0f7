import { describe, expect, it } from 'vitest'
import { blocker, gateAt, judged, subFlow, works } from '../../testing/gate-stories.js'
import { given, type Scenario } from '../../testing/given-when-then.js'
import { agentFlow, answered, briefs, says } from '../../testing/invocations.js'
import { answer } from '../../testing/orchestration.js'
import { isObject, type Json } from '../json.js'

/**
 * R-SEC-3: an id is opaque when it is the same whatever is said. So every story is told twice, with other words each time:
 * in the inputs, the result, what is found in it, the answer of a person and the result that follows.
 */

type Words = {
  readonly input: string
  readonly first: string
  readonly second: string
  readonly found: string
  readonly note: string
}

const words = (mark: string): Words => ({
  input: `${mark}/input`,
  first: `${mark}/first`,
  second: `${mark}/second:7`,
  found: `${mark}/found`,
  note: `${mark}/note`,
})

const isId = (name: string): boolean => /(Ids?|Refs?)$|^target$/.test(name)

/** Of each event, every field that names something. */
function idsIn(value: Json, type: string): string[] {
  if (Array.isArray(value)) return value.flatMap(item => idsIn(item, type))
  if (!isObject(value)) return []
  return Object.entries(value).flatMap(([name, field]) =>
    isId(name) ? [`${type} ${name} ${JSON.stringify(field)}`] : idsIn(field, type),
  )
}

const idsOf = (run: Scenario): readonly string[] =>
  run.log.flatMap(({ type, payload }) => idsIn(payload as unknown as Json, type))

const VARIABLES = [{ name: 'given', type: 'string' as const }]
const bad = (found: string) => ({ score: 2, findings: [{ ...blocker(), description: found }] })
const ESCALATES = { behaviour: { max_attempts: 2, on_fail: 'escalate' as const } }

/** Sent back once, shown to a person after the second time, and let pass. */
const STORIES: { readonly [where: string]: (said: Words) => Scenario } = {
  'an agent before a gate': ({ input, first, second, found, note }) => {
    const flow = agentFlow({ config: { resultVariable: 'got' } }, { variables: VARIABLES })
    const gates = [gateAt('a', 'phase_exit', ESCALATES)]
    const begun = briefs(given(flow).start({ given: input }, undefined, gates))
    const again = briefs(judged(says(begun, answered(first)), bad(found)))
    return judged(says(again, answered(second)), bad(found)).when(answer('a', { action: 'accept', feedback: note }))
  },
  'a worker before a gate': ({ input, first, second, found, note }) => {
    const gates = [gateAt('a', 'phase_exit', ESCALATES)]
    const run = given(subFlow({}, { variables: VARIABLES })).start({ given: input }, undefined, gates)
    const again = judged(works(run, 'child-1', { x: first }), bad(found))
    return judged(works(again, 'child-2', { x: second }), bad(found)).when(
      answer('a', { action: 'accept', feedback: note }),
    )
  },
  'a run before its exit': ({ input, first, found, note }) => {
    const flow = agentFlow({ config: { resultVariable: 'got' } }, { variables: VARIABLES })
    const gates = [gateAt('a', 'workflow_exit', { behaviour: { max_attempts: 1, on_fail: 'escalate' } })]
    const run = says(briefs(given(flow).start({ given: input }, undefined, gates)), answered(first))
    return judged(run, bad(found)).when(answer('a', { action: 'accept', feedback: note }))
  },
}

describe.each(Object.entries(STORIES))('ids of %s', (_where, tell) => {
  it('R-SEC-3: are the same whatever was said', () => {
    const [one, other] = [idsOf(tell(words('alpha'))), idsOf(tell(words('omega')))]
    expect(one).toEqual(other)
    const named = new Set(one.map(id => id.split(' ')[1]))
    for (const name of ['target', 'targetRef', 'findingId', 'resultArtifactId', 'interruptId'])
      expect(named).toContain(name)
    // No goals are kept here, so no run names one, nor who judges it.
    for (const name of ['goalId', 'verifierRef']) expect(named).not.toContain(name)
  })

  it('R-SEC-3: are short names and numbers, and quote nobody', () => {
    const run = tell(words('alpha'))
    expect(run.state.phase).toBe('ended')
    for (const id of idsOf(run)) {
      expect(id).not.toContain('alpha')
      expect(id.split(' ').slice(2).join(' ')).toMatch(/^"[\w.:-]{1,128}"$/)
    }
  })
})

it('R-SEC-3: an invocation is named by its place in the run', () => {
  const named = (mark: string) =>
    idsOf(STORIES['an agent before a gate']!(words(mark))).filter(id => id.includes(' invocationId '))
  expect(named('alpha').length).toBeGreaterThan(3)
  expect(named('alpha')).toEqual(named('omega'))
  // One that is sent back is another one.
  expect(new Set(named('alpha').map(id => id.split(' ')[2])).size).toBe(2)
})
