import { mkdtempSync, rmSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { afterAll, afterEach, beforeEach, describe, expect, it } from 'vitest'
import { findingsOf } from '../../support/stored-runs.js'
import { kindOf } from './fault-proxy.js'
import { GATED, RIGHT, UNTOUCHED, WRONG } from './gated.js'
import { HOST_ID, TwoHosts } from './two-hosts.js'

/** What a peer says is done is not done before it has passed our own gates. */

const scratch = mkdtempSync(path.join(os.tmpdir(), 'assay-peers-gated-'))
let worlds = 0
let two: TwoHosts

beforeEach(async () => {
  worlds += 1
  two = await TwoHosts.start({ folder: path.join(scratch, String(worlds)), ...GATED })
})
afterEach(async () => {
  for (const side of ['a', 'b'] as const) expect(findingsOf(await two.stored(side))).toEqual([])
  await two.stop()
})
afterAll(() => rmSync(scratch, { recursive: true, force: true }))

async function tell(workflowId: string) {
  const runId = await two.begin(workflowId, workflowId)
  const { status } = await two.ended(runId)
  const events = await two.events('a', runId)
  const { variables } = await two.snapshot('a', runId)
  const runs = await two.stored('b')
  const steps = events.flatMap(({ type, payload }) => {
    const said = payload as { readonly phase?: string; readonly verdict?: string }
    if (type === 'core.workflowChain.event') return [said.phase!]
    if (type === 'agent.verified') return [`verified ${said.verdict}`]
    return type === 'variable.changed' ? ['merged'] : []
  })
  return { runId, status, events, variables, runs, steps }
}

/** Verdicts, each with the run of B that it is about. */
async function verdictsOf({ events, runs }: Awaited<ReturnType<typeof tell>>) {
  const verdicts = events.filter(({ type }) => type === 'agent.verified')
  return verdicts.map(event => {
    const { target, verdict, causationHostId } = event.payload as { [name: string]: unknown }
    const run = runs.find(({ runId }) => `peer:beta/${runId}` === target)!
    const end = run.events.at(-1)!
    expect(end.type).toBe('run.completed')
    expect([event.causationId, causationHostId]).toEqual([`${run.runId}:${end.sequence}`, HOST_ID.b])
    return { verdict, inputs: (run.events[0]!.payload as { readonly inputs?: object }).inputs ?? {} }
  })
}

describe('R-VERIFY-10, P10: a gate of A over the work of B', () => {
  it('rejects the first result and merges the second; each verdict points at the run it is about', async () => {
    const told = await tell('revised')
    expect(told.status).toBe('completed')
    expect(told.steps).toEqual([
      'dispatch.began',
      'dispatch.succeeded',
      'child.completed',
      'verified revise',
      'dispatch.began',
      'dispatch.succeeded',
      'child.completed',
      'verified pass',
      'merged',
      'output.harvested',
    ])
    expect(told.variables).toEqual({ capital: RIGHT })
    const verdicts = await verdictsOf(told)
    expect(verdicts.map(({ verdict }) => verdict)).toEqual(['revise', 'pass'])
    // The first was wrong, whatever B has said of it; its run has completed like the second.
    expect(told.runs.map(({ row }) => row!.status)).toEqual(['completed', 'completed'])
    expect(JSON.stringify(told.runs[1]!.events[0]!)).toContain('verificationFeedback')
    expect(JSON.stringify(told.runs[0]!.events[0]!)).not.toContain('verificationFeedback')
    expect(JSON.stringify(told.events)).not.toContain(WRONG)
  })

  it('rejects what never becomes right, and nothing is merged', async () => {
    const told = await tell('rejected')
    expect(told.status).toBe('failed')
    for (const step of ['merged', 'output.harvested']) expect(told.steps).not.toContain(step)
    expect(told.steps.filter(step => step.startsWith('verified'))).toEqual(['verified revise', 'verified fail'])
    expect(told.variables).toEqual({ capital: UNTOUCHED })
    expect((await verdictsOf(told)).map(({ verdict }) => verdict)).toEqual(['revise', 'fail'])
  })

  it('passes what is right, once', async () => {
    const told = await tell('passed')
    expect([told.status, told.variables]).toEqual(['completed', { capital: RIGHT }])
    expect(told.runs).toHaveLength(1)
  })

  it('holds a worker of a supervisor, too', async () => {
    const told = await tell('supervised')
    expect([told.status, told.variables]).toEqual(['completed', { capital: RIGHT }])
    expect(told.runs).toHaveLength(2)
    expect((await verdictsOf(told)).map(({ verdict }) => verdict)).toEqual(['revise', 'pass'])
  })

  it('P10: the result is staged here: what B says of it afterwards is asked of nobody', async () => {
    const told = await tell('revised')
    const completed = told.events.findIndex(
      ({ payload }) => (payload as { phase?: string }).phase === 'child.completed',
    )
    const before = two.proxy.passed.filter(passed => kindOf(passed) === 'read').length
    expect(completed).toBeGreaterThan(0)
    const verdict = await two.client('a').listVerifications(told.runId)
    expect(JSON.stringify(verdict)).toContain('peer:beta/')
    expect(two.proxy.passed.filter(passed => kindOf(passed) === 'read')).toHaveLength(before)
  })
})
