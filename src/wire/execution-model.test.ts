import { describe, expect, it } from 'vitest'
import type { CheckInput } from '../log-check/checked.js'
import { fromSeed } from '../log-check/testing/choice.js'
import { gatedRuns } from '../testing/gated-runs.js'
import { toldRuns } from '../testing/stories/tell-story.js'
import { NAME_A_HOST } from '../core/handoff/foreign-cause.js'
import { EVENTS_FROM, EXECUTION_MODEL_VERSION, executionModel, FIELDS_FROM } from './execution-model.js'

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

/** What is sent above a version, or is not known to belong to any. */
const problems = (sent: ReadonlySet<string>, version: number): string[] =>
  [...sent]
    .filter(name => (FROM[name] ?? Number.POSITIVE_INFINITY) > version)
    .map(name => `${name} is sent above version ${version}`)

const SETTINGS = {
  hostId: 'acme.example',
  ancestry: true,
  confidenceFloor: 0.5,
  confidenceInterruptKind: 'approval',
  transcriptWindow: 200,
  memory: true,
  conformance: false,
}
const CLAIMED = executionModel(EXECUTION_MODEL_VERSION, SETTINGS)

/** Under which claim something is sent. */
const CLAIM_OF: { readonly [name: string]: (claims: ReturnType<typeof executionModel>) => boolean } = {
  'core.workflowChain.event': ({ supported, version }) => supported && version >= 1,
  'core.workflowChain.confidence-escalated': claims => 'confidenceEscalationFloor' in claims,
  'replay.divergedAtRefusal': ({ replayDeterminism: { supported, refusalDivergenceEmission } }) =>
    supported && refusalDivergenceEmission === true,
  'runOrchestrator.decided.iteration': ({ version }) => version >= 5,
  'agent.verified': claims => 'verifier' in claims && claims.verifier?.supported === true,
  ...Object.fromEntries(
    NAME_A_HOST.map(type => [
      `${type}.causationHostId`,
      (claims: ReturnType<typeof executionModel>) => 'crossHostCausation' in claims,
    ]),
  ),
}

describe('the version of the execution model that is claimed', () => {
  it('R-CAP-3 R-CAP-4 R-STATE-4: nothing above it is sent', () => {
    expect(problems(SENT, EXECUTION_MODEL_VERSION)).toEqual([])
  })

  it('R-CAP-3 R-CAP-8 R-VERIFY-1 R-REPLAY-1: whatever a version allows is sent under its claim, and under no lower one', () => {
    const gated = Object.entries(FROM).filter(([, version]) => version > 0)
    expect(gated.map(([name]) => name).sort()).toEqual(Object.keys(CLAIM_OF).sort())
    for (const [name, from] of gated)
      for (let version = 0; version <= 6; version += 1)
        expect([name, version, CLAIM_OF[name]!(executionModel(version, SETTINGS))]).toEqual([
          name,
          version,
          version >= from,
        ])
    const told = [...SENT].filter(name => FROM[name]! > 0)
    expect(told).toEqual(expect.arrayContaining(['agent.verified', 'runOrchestrator.decided.iteration']))
    for (const name of told) expect([name, CLAIM_OF[name]!(CLAIMED)]).toEqual([name, true])
  })

  it('R-CAP-9: without it there would be no hand-off event; with it they are told', () => {
    expect(problems(SENT, 0)).toContain('core.workflowChain.event is sent above version 0')
    expect([...SENT]).toContain('core.workflowChain.event')
    expect(EXECUTION_MODEL_VERSION).toBeGreaterThanOrEqual(1)
  })

  it('R-CONF-12 R-CONF-1: escalations are told, so at least the second is claimed', () => {
    expect(problems(SENT, 1)).toContain('core.workflowChain.confidence-escalated is sent above version 1')
    expect(EXECUTION_MODEL_VERSION).toBeGreaterThanOrEqual(2)
  })

  it('R-CAP-3: an unknown event, and one above the version, are found', () => {
    expect(problems(new Set(['agent.dreamt']), 6)).toEqual(['agent.dreamt is sent above version 6'])
    expect(problems(new Set(['agent.decided.causationHostId']), 2)).toHaveLength(1)
    expect(problems(new Set(['agent.verified', 'agent.reasoned']), 5)).toEqual([
      'agent.verified is sent above version 5',
    ])
  })

  it('R-STATE-1: the fifth version has no event type of its own, and what counts turns is its only field', () => {
    expect(Object.entries(EVENTS_FROM).filter(([, version]) => version === 5)).toEqual([])
    expect(Object.entries(FIELDS_FROM).filter(([, version]) => version === 5)).toEqual([
      ['runOrchestrator.decided.iteration', 5],
    ])
  })
})

describe('causes', () => {
  it('R-XHOST-1 R-XHOST-3 R-XHOST-4: all are on this host, and no event names a host of its cause', () => {
    const events = LOGS.flatMap(({ runs }) => runs.flatMap(run => run.events))
    const known = new Set(events.map(({ eventId }) => eventId))
    const caused = events.filter(({ causationId }) => causationId !== null && causationId !== undefined)
    expect(caused.length).toBeGreaterThan(1_000)
    for (const { causationId } of caused) expect(known).toContain(causationId)
    expect(events.filter(({ payload }) => Object.hasOwn(payload as object, 'causationHostId'))).toEqual([])
    // Stories tell of most events that could.
    const told = new Set<string>(events.map(({ type }) => type))
    expect(NAME_A_HOST.filter(type => told.has(type)).length).toBeGreaterThan(6)
  })
})
