import { describe, expect, test } from 'vitest'
import type { RunEventDoc } from '../../client/wire-shapes.js'
import { causesOf, type ToldRun } from './causes.js'

type Told = { readonly seq: number; readonly type: string; readonly cause?: string; readonly payload?: object }

const run = (runId: string, events: readonly Told[], parent: ToldRun['parent'] = null): ToldRun => ({
  parent,
  events: events.map(
    ({ seq, type, cause, payload = {} }) =>
      ({
        eventId: `${runId}:${seq}`,
        runId,
        type,
        payload,
        ...(cause && { causationId: cause }),
      }) as never as RunEventDoc,
  ),
})

/** A hands over to B, and judges what B brought. */
const WORLD: { readonly [place: string]: ToldRun } = {
  'a.example ra': run('ra', [
    { seq: 0, type: 'run.started' },
    { seq: 1, type: 'runOrchestrator.decided', cause: 'ra:0' },
    { seq: 2, type: 'core.workflowChain.event', cause: 'ra:1', payload: { phase: 'dispatch.began' } },
    {
      seq: 3,
      type: 'agent.verified',
      cause: 'rb:2',
      payload: { causationHostId: 'b.example', target: 'peer:beta/rb' },
    },
    { seq: 4, type: 'core.workflowChain.event', cause: 'ra:3', payload: { phase: 'output.harvested' } },
    { seq: 5, type: 'run.completed' },
  ]),
  'b.example rb': run(
    'rb',
    [
      { seq: 0, type: 'run.started', payload: { foreignParent: { eventId: 'ra:2' } } },
      { seq: 1, type: 'node.started', cause: 'rb:0' },
      { seq: 2, type: 'run.completed' },
    ],
    { runId: 'ra', hostId: 'a.example' },
  ),
}
const from = (runId: string, hostId: string, world = WORLD) =>
  causesOf({ runId, hostId }, async (host, of) => world[`${host} ${of}`])
const ids = (steps: readonly { eventId: string }[]) => steps.map(({ eventId }) => eventId)

describe('R-XHOST-2: from what happened last to what it began with', () => {
  test('over a verdict to the host that brought the result, and back over what has started that', async () => {
    expect(ids(await from('ra', 'a.example'))).toEqual(['ra:4', 'ra:3', 'rb:2', 'ra:2', 'ra:1', 'ra:0'])
  })

  test('from the other host', async () => {
    const steps = await from('rb', 'b.example')
    expect(ids(steps)).toEqual(['rb:1', 'rb:0', 'ra:2', 'ra:1', 'ra:0'])
    expect(steps[2]).toEqual({
      hostId: 'a.example',
      runId: 'ra',
      eventId: 'ra:2',
      type: 'core.workflowChain.event',
      phase: 'dispatch.began',
    })
  })

  test('up to a host that nobody can ask, or that has no such run or event', async () => {
    const { 'b.example rb': there } = WORLD
    expect(ids(await from('rb', 'b.example', { 'b.example rb': there! }))).toEqual(['rb:1', 'rb:0'])
    expect(ids(await from('rb', 'b.example', { 'b.example rb': there!, 'a.example ra': run('ra', []) }))).toEqual([
      'rb:1',
      'rb:0',
    ])
    expect(await from('nobody', 'b.example')).toEqual([])
  })

  test('and never in a circle, whatever hosts say', async () => {
    const circle = run('r', [
      { seq: 0, type: 'a', cause: 'r:1' },
      { seq: 1, type: 'b', cause: 'r:0' },
    ])
    expect(ids(await from('r', 'h', { 'h r': circle }))).toEqual(['r:1', 'r:0'])
    const own = run('r', [{ seq: 0, type: 'a' }], { runId: 'r', hostId: 'h' })
    expect(ids(await from('r', 'h', { 'h r': own }))).toEqual(['r:0'])
  })
})
