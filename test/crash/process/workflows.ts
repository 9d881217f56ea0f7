import { mkdirSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { type Sketch, sketch } from '../../../src/testing/workflow.js'
import { ORCHESTRATIONS } from './orchestrations.js'

const delay = (ms: number) => ({ type: 'core.delay', config: { ms } })

/** The runs that are killed at every step. Timers that fall due together after an outage fall due in the same order. */
export const CRASH_WORKFLOWS: readonly Sketch[] = [
  {
    id: 'linear',
    nodes: { a: 'core.noop', d: delay(20), b: 'core.noop', e: delay(10), c: 'core.noop' },
    edges: ['a > d', 'd > b', 'b > e', 'e > c'],
  },
  {
    id: 'parallel',
    nodes: { fork: 'core.parallel', x: delay(10), y: delay(160), z: delay(310), join: 'core.merge', end: 'core.end' },
    edges: ['fork > x', 'fork > y', 'fork > z', 'x > join', 'y > join', 'z > join', 'join > end'],
  },
  {
    id: 'retrying',
    nodes: {
      f: { type: 'core.fail', config: { failures: 2 }, settings: { maxRetries: 3, retryDelayMs: 10 } },
      after: 'core.noop',
    },
    edges: ['f > after'],
  },
  {
    id: 'channel',
    nodes: {
      w1: { type: 'core.channelWrite', config: { channelName: 'log', value: 'one' } },
      d: delay(10),
      w2: { type: 'core.channelWrite', config: { channelName: 'log', value: 'two' } },
      w3: { type: 'core.channelWrite', config: { channelName: 'sum', value: 4 } },
    },
    edges: ['w1 > d', 'd > w2', 'w2 > w3'],
    channels: { log: { reducer: 'append', schema: { type: 'string' } }, sum: { reducer: 'counter', default: 1 } },
  },
  {
    id: 'family',
    nodes: {
      sub: {
        type: 'core.subWorkflow',
        config: { workflowId: 'child', inputMapping: { given: 'mine' }, outputMapping: { mine: 'answer' } },
      },
      last: 'core.noop',
    },
    edges: ['sub > last'],
    variables: [{ name: 'mine', type: 'number', defaultValue: 20 }],
  },
  {
    id: 'child',
    nodes: {
      d: delay(15),
      s: {
        type: 'core.setVariable',
        config: { name: 'answer' },
        inputs: { value: { type: 'expression', expression: 'variables.given + 22' } },
      },
    },
    edges: ['d > s'],
    variables: [{ name: 'given', type: 'number' }],
  },
  {
    id: 'effect',
    nodes: {
      loop: { type: 'core.loop', config: { maxIterations: 2 } },
      s: 'core.conformance.side-effect',
      end: 'core.noop',
    },
    edges: ['loop.body > s', 's > loop', 'loop.done > end'],
  },
  {
    id: 'approval',
    nodes: { a: 'core.noop', gate: 'core.approvalGate', d: delay(10), z: 'core.noop' },
    edges: ['a > gate', 'gate > d', 'd > z'],
  },
  {
    id: 'timeout',
    nodes: { gate: { type: 'core.approvalGate', config: { timeoutMs: 100 } }, z: 'core.noop' },
    edges: ['gate > z'],
  },
  {
    id: 'mirror',
    nodes: { sub: { type: 'core.subWorkflow', config: { workflowId: 'asking-child' } }, z: 'core.noop' },
    edges: ['sub > z'],
  },
  { id: 'asking-child', nodes: { d: delay(10), gate: 'core.approvalGate' }, edges: ['d > gate'] },
  {
    id: 'fork',
    nodes: { a: 'core.noop', s: 'core.conformance.side-effect', d: delay(10), z: 'core.noop' },
    edges: ['a > s', 's > d', 'd > z'],
  },
  { id: 'delivery', nodes: { a: 'core.noop', d: delay(10), z: 'core.noop' }, edges: ['a > d', 'd > z'] },
  { id: 'poison', nodes: { s: { type: 'core.conformance.side-effect', config: { crash: true } } } },
  { id: 'sleeper', nodes: { d: delay(600_000) } },
  { id: 'noop', nodes: { a: 'core.noop' } },
  ...ORCHESTRATIONS,
]

type Named = { readonly id?: string }

/** A workflow and those that it hands work to, as far as they are among these. */
export function withWorkers<T extends Named>(all: readonly T[], id: string, known: readonly T[] = []): readonly T[] {
  const workflow = all.find(one => one.id === id)!
  const text = JSON.stringify(workflow)
  let found: readonly T[] = [...known, workflow]
  for (const other of all)
    if (!found.includes(other) && text.includes(`"${other.id}"`)) found = withWorkers(all, other.id!, found)
  return found
}

/** A project folder with these and what they need, or with all: a host registers each of them at every start. */
export function writeProject(folder: string, ...ids: readonly string[]): string {
  const project = path.join(folder, ['project', ...ids].join('-'))
  const workflows = ids.length === 0 ? CRASH_WORKFLOWS : ids.flatMap(id => withWorkers(CRASH_WORKFLOWS, id))
  mkdirSync(path.join(project, 'workflows'), { recursive: true })
  for (const workflow of workflows)
    writeFileSync(path.join(project, 'workflows', `${workflow.id}.json`), JSON.stringify(sketch(workflow)))
  return project
}
