import { describe, expect, it } from 'vitest'
import type { CheckInput } from '../log-check/checked.js'
import { fromSeed } from '../log-check/testing/choice.js'
import { gatedRuns } from '../testing/gated-runs.js'
import { toldRuns } from '../testing/stories/tell-story.js'
import { EVENTS_FROM, EXECUTION_MODEL_VERSION, FIELDS_FROM, SENT_EARLY } from './execution-model.js'

const LOGS: CheckInput[] = []
for (let seed = 1; seed <= 25; seed += 1) {
  for (const kind of ['orchestra', 'orchestra led by an agent', 'agents', 'graph', 'questions'] as const)
    LOGS.push(await toldRuns(kind, fromSeed(seed * 31)))
  LOGS.push(gatedRuns(fromSeed(seed * 31)))
}

/** Event types, and versioned fields, that stories of this host tell. */
const SENT = new Set(LOGS.flatMap(({ runs }) => runs.flatMap(({ events }) => events.flatMap(namesOf))))

function namesOf({ type, payload }: { readonly type: string; readonly payload: unknown }): string[] {
  const fields = Object.keys(payload ?? {}).map(field => `${type}.${field}`)
  return [type, ...fields.filter(field => Object.hasOwn(FIELDS_FROM, field))]
}

const FROM: { readonly [name: string]: number } = { ...EVENTS_FROM, ...FIELDS_FROM }

/** What is sent above a version and not listed, and what is listed and not sent, or need not be. */
function problems(sent: ReadonlySet<string>, version: number, early: readonly string[]): string[] {
  const above = [...sent].filter(name => (FROM[name] ?? Number.POSITIVE_INFINITY) > version)
  return [
    ...above.filter(name => !early.includes(name)).map(name => `${name} is sent above version ${version}`),
    ...early.filter(name => !above.includes(name)).map(name => `${name} is listed and not sent early`),
    ...(version >= 6 && early.length > 0 ? ['something is listed although all versions are claimed'] : []),
  ]
}

describe('the version of the execution model that is claimed', () => {
  it('R-CAP-3 R-CAP-4 R-STATE-4: nothing above it is sent but what is listed, and all that is listed is', () => {
    expect(problems(SENT, EXECUTION_MODEL_VERSION, SENT_EARLY)).toEqual([])
    expect(SENT_EARLY).toEqual(['runOrchestrator.decided.iteration', 'agent.verified'])
  })

  it('R-CAP-9: without it there would be no hand-off event; with it they are told', () => {
    expect(problems(SENT, 0, SENT_EARLY)).toContain('core.workflowChain.event is sent above version 0')
    expect([...SENT]).toContain('core.workflowChain.event')
    expect(EXECUTION_MODEL_VERSION).toBeGreaterThanOrEqual(1)
  })

  it('R-CONF-12 R-CONF-1: escalations are told, so at least the second is claimed', () => {
    expect(problems(SENT, 1, SENT_EARLY)).toEqual(['core.workflowChain.confidence-escalated is sent above version 1'])
    expect([...SENT]).toContain('core.workflowChain.confidence-escalated')
  })

  it('R-CAP-3: an unknown event, one above the version, and a needless entry are found', () => {
    expect(problems(new Set(['agent.dreamt']), 2, [])).toHaveLength(1)
    expect(problems(new Set(['agent.decided.causationHostId']), 2, [])).toHaveLength(1)
    expect(problems(new Set(['agent.verified']), 2, ['agent.verified', 'agent.reasoned'])).toEqual([
      'agent.reasoned is listed and not sent early',
    ])
  })

  it('R-CAP-4: with the sixth version nothing may be listed any more', () => {
    expect(problems(SENT, 6, [])).toEqual([])
    expect(problems(SENT, 6, SENT_EARLY)).toContain('something is listed although all versions are claimed')
    if (EXECUTION_MODEL_VERSION >= 6) expect(SENT_EARLY).toEqual([])
  })

  it('R-STATE-1: the fifth version has no event type of its own, and what counts turns is its only field', () => {
    expect(Object.entries(EVENTS_FROM).filter(([, version]) => version === 5)).toEqual([])
    expect(Object.entries(FIELDS_FROM).filter(([, version]) => version === 5)).toEqual([
      ['runOrchestrator.decided.iteration', 5],
    ])
  })
})
