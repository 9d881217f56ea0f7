import { type DraftRun, has, insert, lastEvent, type Mutation, nodeOf, remove, runMutation } from '../draft.js'

export const BOUND_MUTATIONS: readonly Mutation[] = [
  runMutation(
    'L26',
    'a breach with observed equal to limit',
    run => has(run, 'cap.breached'),
    run => {
      const breach = breachOf(run)
      breach.payload.observed = breach.payload.limit
    },
  ),
  runMutation(
    'L26',
    'a breach told twice',
    run => has(run, 'cap.breached'),
    run => {
      insert(run, run.events.length - 2, 'cap.breached', null, breachOf(run).payload)
    },
  ),
  runMutation(
    'L26',
    'a breach that does not end the run',
    run => has(run, 'cap.breached'),
    run => remove(run, lastEvent(run)),
  ),
  runMutation(
    'L26',
    'an event between breach and failure',
    run => has(run, 'cap.breached'),
    run => {
      insert(run, run.events.length - 1, 'log.appended', null, { level: 'info', message: 'between' })
    },
  ),
  runMutation(
    'L26',
    'a breach that fails the run with another code',
    run => has(run, 'cap.breached'),
    run => {
      lastEvent(run).payload.error = ERROR
    },
  ),
  runMutation(
    'L26',
    'a bound crossed by more than one',
    run => has(run, 'cap.breached') && breachOf(run).payload.kind === 'node-executions',
    run => {
      breachOf(run).payload.observed = Number(breachOf(run).payload.observed) + 1
    },
  ),
  runMutation(
    'L26',
    'a breach that ends in completion',
    run => has(run, 'cap.breached'),
    run => {
      lastEvent(run).type = 'run.completed'
    },
  ),
  runMutation(
    'L26a',
    'more executions than recursionLimit',
    run => executions(run) > 1 && !has(run, 'assay.run.forked'),
    run => {
      Object.assign(run.events[0]?.payload ?? {}, { configurable: { recursionLimit: executions(run) - 1 } })
    },
  ),
  runMutation(
    'L26a',
    'more executions than the host allows',
    run => executions(run) > 1,
    (run, draft) => {
      draft.limits = { maxNodeExecutions: executions(run) - 1 }
    },
  ),
  runMutation(
    'L26a',
    'the over-limit node started after all',
    run => has(run, 'cap.breached') && breachOf(run).payload.kind === 'node-executions',
    run => {
      const id = String(breachOf(run).payload.nodeId)
      const at = run.events.findIndex(event => event.type === 'assay.stop.requested')
      insert(run, at, 'node.started', id, { nodeId: id, typeId: nodeOf(run, id)?.typeId, attempt: 0 })
    },
  ),
  runMutation(
    'L26b',
    'a breach of a higher limit than was asked for',
    run => has(run, 'cap.breached') && breachOf(run).payload.kind === 'node-executions',
    run => {
      const breach = breachOf(run).payload
      breach.limit = Number(breach.limit) + 5
      breach.observed = Number(breach.observed) + 5
    },
  ),
]

const ERROR = { code: 'effect_failed', message: 'it did not work' }

const executions = (run: DraftRun): number => run.events.filter(event => event.type === 'node.started').length

const breachOf = (run: DraftRun) => run.events.find(event => event.type === 'cap.breached') ?? lastEvent(run)
