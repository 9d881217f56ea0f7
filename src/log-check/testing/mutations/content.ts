import { insert, isEnd, lastEvent, type Mutation, mutation, ofType, runMutation } from '../draft.js'
import { missing } from './required-fields.js'

const WRONG: readonly (readonly [type: string, field: string, value: unknown])[] = [
  ['run.started', 'transport', 'pigeon'],
  ['run.started', 'inputs', []],
  ['run.started', 'tags', ['ok', 1]],
  ['run.failed', 'error', { code: 'x' }],
  ['run.paused', 'drainPolicy', 'gently'],
  ['node.started', 'attempt', -1],
  ['node.started', 'attempt', 0.5],
  ['node.started', 'nodeId', 'n'.repeat(129)],
  ['node.completed', 'outputs', 'done'],
  ['node.failed', 'attempts', 0],
  ['node.failed', 'error', 'broken'],
  ['node.retried', 'attempt', 0],
  ['node.skipped', 'reason', ''],
  ['node.dispatched', 'childRunId', 'r'.repeat(129)],
  ['channel.written', 'writtenAt', 'yesterday'],
  ['channel.written', 'schemaVersion', 0],
  ['cap.breached', 'limit', '5'],
  ['interrupt.requested', 'data', []],
  ['interrupt.requested', 'timeoutMs', -1],
  ['interrupt.requested', 'requestedAt', 'now'],
  ['interrupt.resolved', 'resolvedBy', ''],
  ['approval.received', 'action', 'ask'],
  ['assay.child.status', 'status', 'paused'],
  ['runOrchestrator.decided', 'agentId', 'me'],
  ['runOrchestrator.decided', 'iteration', 0],
  ['runOrchestrator.decided', 'decision', 'terminate'],
  ['core.workflowChain.event', 'phase', 'child.paused'],
  ['core.workflowChain.event', 'workerId', ''],
  ['core.workflowChain.event', 'error', 'broken'],
  ['core.workflowChain.event', 'harvestedKeys', [1]],
  ['core.workflowChain.event', 'attestation', { checksum: 'c0', algorithm: 'md5' }],
  ['core.workflowChain.event', 'causationHostId', ''],
  ['core.workflowChain.confidence-escalated', 'floor', 0.4],
  ['core.workflowChain.confidence-escalated', 'floor', 1.1],
  ['core.workflowChain.confidence-escalated', 'escalationKind', 'ask'],
  ['agent.toolCalled', 'transport', 'pigeon'],
  ['agent.toolReturned', 'status', 'fine'],
  ['agent.reasoned', 'verbosity', 'loud'],
  ['agent.decided', 'confidence', 2],
  ['agent.invocation.started', 'source', 'somewhere'],
  ['agent.invocation.completed', 'outcome', 'fine'],
  ['agent.invocation.completed', 'confidence', 2],
  ['agent.promptResolved', 'chain', [{ layer: 'elsewhere', applied: true }]],
  ['agent.promptResolved', 'kind', 'poem'],
  ['prompt.composed', 'hash', 'abc'],
  ['prompt.composed', 'variableHashes', { x: 'the value itself' }],
  ['assay.model.requested', 'call', 0],
  ['provider.usage', 'inputTokens', -1],
  ['provider.usage', 'inputTokens', 1.5],
  ['envelope.retry.attempted', 'attempt', 17],
  ['envelope.retry.attempted', 'reason', 'because'],
  ['envelope.truncated', 'stopReason', 'bored'],
  ['budget.reserved', 'effectiveBudget', { maxTurns: 3 }],
  ['budget.consumed', 'dimension', 'patience'],
  ['budget.threshold.crossed', 'percent', 101],
  ['assay.run.forked', 'fromSeq', 0],
  ['replay.diverged', 'divergenceKind', 'mood'],
]

const wrong: readonly Mutation[] = WRONG.map(([type, field, value]) =>
  mutation('L31a', `${type} with ${field} ${JSON.stringify(value).slice(0, 24)}`, ofType(type), ({ event }) => {
    event.payload[field] = value
  }),
)

/** Nothing in the core writes such a line by itself, so one is put in. */
const lines: readonly Mutation[] = (
  [
    ['without level', { message: 'hello' }],
    ['without message', { level: 'info' }],
    ['with level "loud"', { level: 'loud', message: 'hello' }],
  ] as const
).map(([title, payload]) =>
  mutation(
    'L31a',
    `log.appended ${title}`,
    ({ at }) => at > 0,
    ({ run, at }) => {
      insert(run, at, 'log.appended', null, payload)
    },
  ),
)

const TYPES = [
  'run.exploded',
  'node.wandered',
  'cap.lifted',
  'run.annotated',
  'state.snapshot',
  'core.other',
  'acme.canvas.published',
  'nodots',
  '',
  'constructor',
  'Assay.big',
]

const types: readonly Mutation[] = TYPES.map(type =>
  mutation(
    'L31',
    `an event of type ${JSON.stringify(type)}`,
    ({ at }) => at > 0,
    ({ run, at }) => {
      insert(run, at, type, null, {})
    },
  ),
)

const durations: readonly Mutation[] = ['run.completed', 'run.failed', 'run.cancelled', 'node.completed'].map(type =>
  mutation('L31c', `${type} with a duration`, ofType(type), ({ event }) => {
    event.payload.durationMs = 12
  }),
)

const CLOSED = [
  'agent.invocation.started',
  'agent.invocation.completed',
  'agent.promptResolved',
  'prompt.composed',
  'assay.model.requested',
  'assay.model.lost',
  'provider.usage',
  'envelope.retry.attempted',
  'envelope.retry.exhausted',
  'envelope.refusal',
  'envelope.truncated',
  'envelope.recovery.applied',
  'budget.reserved',
  'budget.consumed',
  'budget.threshold.crossed',
  'budget.exhausted',
  'assay.run.forked',
  'assay.child.status',
  'assay.interrupt.voted',
  'assay.interrupt.asked',
  'runOrchestrator.decided',
  'core.workflowChain.event',
  'core.workflowChain.confidence-escalated',
]

export const CONTENT_MUTATIONS: readonly Mutation[] = [
  ...missing,
  ...wrong,
  ...lines,
  ...types,
  ...durations,
  mutation(
    'L31a',
    'an event without a payload',
    () => true,
    ({ event }) => {
      Object.assign(event, { payload: undefined })
    },
  ),
  mutation('L31a', 'a payload that is a list', ofType('node.completed'), ({ event }) => {
    Object.assign(event, { payload: [] })
  }),
  mutation(
    'L31a',
    'an event id that is too long',
    () => true,
    ({ event }) => {
      event.eventId = 'e'.repeat(129)
    },
  ),
  mutation('L31b', 'channel.written with another field', ofType('channel.written'), ({ event }) => {
    event.payload.durationMs = 1
  }),
  mutation('L31b', 'node.dispatched with another field', ofType('node.dispatched'), ({ event }) => {
    event.payload.nodeId = event.nodeId
  }),
  mutation('L31b', 'node.dispatched with the status of the child', ofType('node.dispatched'), ({ event }) => {
    event.payload.childStatus = 'running'
  }),
  ...CLOSED.map(type =>
    mutation('L31b', `${type} with another field`, ofType(type), ({ event }) => {
      event.payload.more = true
    }),
  ),
  mutation('L31b', 'run.dead_lettered with another field', ofType('run.failed'), ({ run, at }) => {
    insert(run, at, 'run.dead_lettered', null, { runId: run.runId, reason: 'poison', attempts: 1, secret: 'no' })
  }),
  runMutation(
    'L9',
    'a snapshot with another variable',
    () => true,
    run => {
      run.snapshot.variables.greeting = 'goodbye'
    },
  ),
  runMutation(
    'L9',
    'a snapshot without a variable',
    run => run.snapshot.variables.count !== undefined,
    run => {
      delete run.snapshot.variables.count
    },
  ),
  runMutation(
    'L9',
    'a snapshot with a variable from nowhere',
    () => true,
    run => {
      run.snapshot.variables.stray = 1
    },
  ),
  mutation('L9', 'a snapshot without a written channel', ofType('channel.written'), ({ run, event }) => {
    delete run.snapshot.channels[String(event.payload.channel)]
  }),
  mutation(
    'L9',
    'a counter that was not added to',
    ({ event }) => event.payload.channel === 'total',
    ({ run }) => {
      run.snapshot.channels.total = Number(run.snapshot.channels.total) + 1
    },
  ),
  mutation(
    'L9',
    'a list that lost an entry',
    ({ event }) => ['lines', 'notes', 'ballot'].includes(String(event.payload.channel)),
    ({ run, event }) => {
      const list = run.snapshot.channels[String(event.payload.channel)] as unknown[]
      list.pop()
    },
  ),
  mutation(
    'L9',
    'an append that replaced',
    ({ event }) => event.payload.channel === 'notes',
    ({ event }) => {
      event.payload.reducer = 'replace'
    },
  ),
  mutation(
    'L9',
    'an entry without its time',
    ({ event }) => event.payload.channel === 'recent',
    ({ run }) => {
      const list = run.snapshot.channels.recent as { value: unknown }[]
      run.snapshot.channels.recent = list.map(entry => entry.value)
    },
  ),
  mutation(
    'L9a',
    'a change that forgets what was before',
    ({ event, run }) =>
      event.type === 'variable.changed' &&
      run.events.some(
        other =>
          other.type === 'variable.changed' &&
          other.sequence < event.sequence &&
          other.payload.name === event.payload.name,
      ),
    ({ event }) => {
      event.payload.previous = 'something else'
    },
  ),
  mutation('L9b', 'a channel changed as a variable', ofType('variable.changed'), ({ run, event }) => {
    run.definition.channels[String(event.payload.name)] = { reducer: 'replace' }
  }),
  runMutation(
    'L30',
    'two effects with one identity',
    run => run.invocations.length > 1,
    run => {
      const [one, two] = run.invocations
      if (one !== undefined && two !== undefined) two.id = one.id
    },
  ),
  runMutation(
    'L30',
    'one effect with two identities',
    run => run.invocations.length > 0,
    run => {
      for (const call of run.invocations.slice(0, 1)) run.invocations.push({ ...call, id: `${call.id.slice(1)}x` })
    },
  ),
  runMutation(
    'L30',
    'an effect of two runs',
    (run, draft) => run.invocations.length > 0 && draft.runs.length > 1,
    (run, draft) => {
      const other = draft.runs.find(candidate => candidate !== run)
      other?.invocations.push(...run.invocations.slice(0, 1))
    },
  ),
  runMutation(
    'L30a',
    'an identity of another ordinal',
    run => run.invocations.length > 0,
    run => {
      for (const call of run.invocations) call.ordinal += '.1'
    },
  ),
  runMutation(
    'L30a',
    'an identity of another tenant',
    run => run.invocations.length > 0,
    run => {
      run.tenant = 'mallory'
    },
  ),
  runMutation(
    'L30a',
    'an identity of another provider',
    run => run.invocations.length > 0,
    run => {
      for (const call of run.invocations) call.provider = 'test:other'
    },
  ),
  runMutation(
    'L30b',
    'an effect of a node that never started',
    run => run.invocations.length > 0 && isEnd(lastEvent(run)),
    run => {
      for (const call of run.invocations) call.nodeId = 'ghost'
    },
  ),
]
