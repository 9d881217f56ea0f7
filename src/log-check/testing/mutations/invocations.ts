import {
  after,
  all,
  before,
  changed,
  type DraftEvent,
  insert,
  lost,
  type Mutation,
  move,
  mutation,
  nextOf,
  ofType,
  remove,
  repeat,
  runMutation,
  type Spot,
  setsField,
  shift,
  uncaused,
} from '../draft.js'

export const opens = ofType('agent.invocation.started')
export const closes = ofType('agent.invocation.completed')
export const requests = ofType('assay.model.requested')
export const usage = ofType('provider.usage')
const holds = (spot: Spot): boolean =>
  ofType('interrupt.requested')(spot) && spot.event.payload.kind === 'low-confidence'
export const losses = ofType('assay.model.lost')
const resolves = ofType('agent.promptResolved')
const composes = ofType('prompt.composed')
const decides = ofType('agent.decided')

export const nextOfNode = ({ run, event, at }: Spot): DraftEvent | undefined =>
  run.events.slice(at + 1).find(other => other.nodeId === event.nodeId)
export const previousOfNode = ({ run, event, at }: Spot): DraftEvent | undefined =>
  run.events.slice(0, at).findLast(other => other.nodeId === event.nodeId)
export const follows = (spot: Spot, ...types: string[]): boolean => types.includes(nextOfNode(spot)?.type ?? '')
export const comesAfter = (spot: Spot, ...types: string[]): boolean => types.includes(previousOfNode(spot)?.type ?? '')
/** Of a live agent, not of a scripted one. */
export const isLive = ({ run, event, at }: Spot): boolean => {
  const latest = run.events
    .slice(0, at)
    .findLast(({ type, nodeId }) => nodeId === event.nodeId && BOUNDS.includes(type))
  return latest?.type === 'agent.invocation.started'
}
const BOUNDS = ['agent.invocation.started', 'agent.invocation.completed', 'node.started']
const ends =
  (outcome: string) =>
  (spot: Spot): boolean =>
    closes(spot) && spot.event.payload.outcome === outcome
const settles = (spot: Spot): boolean =>
  ['node.completed', 'node.failed', 'node.retried', 'node.cancelled'].includes(nextOf(spot)?.type ?? '')
const briefOf = ({ secret }: DraftEvent) => (secret?.brief ?? {}) as Record<string, unknown>
const startOf = (spot: Spot): DraftEvent =>
  before(spot, ({ type, nodeId }) => type === 'agent.invocation.started' && nodeId === spot.event.nodeId) as DraftEvent
const add = (spot: Spot, at: number, type: string, payload: object): DraftEvent =>
  insert(spot.run, at, type, spot.event.nodeId, payload)

export const INVOCATION_MUTATIONS: readonly Mutation[] = [
  mutation('L23', 'an invocation that is opened twice', opens, ({ run, event, at }) => {
    repeat(run, event, at + 1)
  }),
  mutation('L23', 'an invocation that is closed twice', closes, ({ run, event, at }) => {
    repeat(run, event, at + 1)
  }),
  lost('L23', 'an invocation that is never closed', all(closes, settles)),
  lost(
    'L23',
    'an invocation that was never opened',
    all(
      opens,
      spot =>
        after(
          spot,
          ({ type, payload }) =>
            type === 'agent.invocation.completed' && payload.invocationId === spot.event.payload.invocationId,
        ) !== undefined,
    ),
  ),
  setsField('L23', 'an invocation that another agent ends', closes, 'agentId', 'local.acme.other'),
  setsField('L23', 'the end of another invocation', closes, 'invocationId', 'n9:9'),
  mutation('L23c', 'a word of the agent before it begins', all(decides, isLive), spot => {
    const start = startOf(spot)
    repeat(spot.run, spot.event, spot.run.events.indexOf(start))
  }),
  mutation(
    'L23c',
    'a word of the agent after its end',
    all(closes, spot => nextOf(spot) !== undefined),
    spot => {
      const { agentId } = spot.event.payload
      add(spot, spot.at + 1, 'agent.reasoned', { agentId, reasoning: 'and another thing' })
    },
  ),
  mutation('L23d', 'a second invocation for one start', opens, ({ run, event, at }) => {
    repeat(run, event, at + 1, { invocationId: 'second' })
  }),
  setsField('L23d', 'an invocation that names another start', opens, 'invocationId', 'n0:0'),
  uncaused('L23d', 'an invocation that nothing causes', opens),
  mutation(
    'L23d',
    'an invocation of a supervisor that is no agent',
    all(opens, spot => !byWorker(spot)),
    ({ run, event }) => {
      for (const node of run.definition.nodes) if (node.id === event.nodeId) delete node.config.prompt
    },
  ),
  runMutation(
    'L23d',
    'an agent’s node that completes without its agent',
    run => run.events.some((event, at) => isDone({ run, event, at })),
    run => {
      const done = run.events.find((event, at) => isDone({ run, event, at })) as DraftEvent
      const inner = run.events.filter(({ nodeId, type }) => nodeId === done.nodeId && !type.startsWith('node.'))
      for (const event of inner) remove(run, event)
    },
  ),
  setsField(
    'L23d',
    'an invocation that failed and whose node completes',
    all(ends('completed'), completesNode),
    'outcome',
    'failed',
  ),
  mutation('L23d', 'a refusal that fails with another code', ends('refused'), spot => {
    const failed = nextOf(spot)
    if (failed !== undefined) failed.payload.error = { code: 'effect_failed', message: 'no' }
  }),
  mutation(
    'L23d',
    'a node that does not complete because of its agent',
    all(ends('completed'), completesNode),
    spot => {
      const done = nextOf(spot)
      if (done !== undefined) done.causationId = null
    },
  ),
  mutation('L23n', 'a call while the run is paused', ofType('run.paused'), (spot, draft) => callNow(spot, draft)),
  mutation('L23n', 'a pause in the middle of a call', requests, ({ run, at }) => {
    insert(run, at + 1, 'run.paused', null, { drainPolicy: 'immediate' })
  }),
  mutation(
    'L23n',
    'a draining pause in the middle of a tool’s call',
    all(ofType('agent.toolCalled'), isLive),
    ({ run, at }) => {
      insert(run, at + 1, 'run.paused', null, { drainPolicy: 'drain-current-node' })
    },
  ),
  mutation('L23n', 'a call after the stop', requests, ({ run, at }) => {
    insert(run, at, 'assay.stop.requested', null, { outcome: 'cancelled' })
  }),
  lost(
    'L23i',
    'prompts that are never composed',
    all(composes, spot => follows(spot, 'assay.model.requested')),
  ),
  mutation(
    'L23i',
    'a decision before the usage is told',
    all(usage, spot => follows(spot, 'agent.decided')),
    spot => {
      shift(spot.run, spot.event, spot.run.events.indexOf(nextOfNode(spot) as DraftEvent))
    },
  ),
  lost(
    'L23i',
    'a completion without a decision',
    all(decides, spot => isLive(spot) && follows(spot, 'agent.invocation.completed')),
  ),
  setsField(
    'L23i',
    'a completion after a loss',
    all(ends('failed'), spot => comesAfter(spot, 'assay.model.lost')),
    'outcome',
    'completed',
  ),
  setsField('L23i', 'a refusal that only failed', ends('refused'), 'outcome', 'failed'),
  mutation('L23i', 'a decision that is made twice', all(decides, isLive), ({ run, event, at }) => {
    repeat(run, event, at + 1)
  }),
  mutation('L23i', 'an answer that was cut off and taken', ofType('envelope.truncated'), spot => {
    const { agentId } = startOf(spot).payload
    add(spot, spot.at + 1, 'agent.decided', { agentId, decision: 1 })
  }),
  uncaused('L23o', 'a call that nothing causes', requests),
  uncaused('L23o', 'a usage that no call causes', usage),
  uncaused('L23o', 'a decision that no call causes', all(decides, isLive)),
  uncaused('L23o', 'a loss that no call causes', losses),
  uncaused('L23o', 'an end that nothing causes', closes),
  uncaused('L23o', 'a tool that no answer asked for', all(ofType('agent.toolCalled'), isLive)),
  mutation(
    'L23o',
    'a call because of what came before the answer',
    all(requests, spot => comesAfter(spot, 'agent.toolReturned', 'envelope.retry.attempted')),
    spot => {
      spot.event.causationId = startOf(spot).eventId
    },
  ),
  changed('L23e', 'a prompt of two layers', resolves, event => {
    event.payload.chain = [
      { layer: 'node', applied: true },
      { layer: 'host-defaults', applied: true },
    ]
  }),
  changed(
    'L23e',
    'a prompt of no layer',
    all(resolves, spot => spot.event.payload.resolved !== null),
    event => {
      event.payload.chain = []
    },
  ),
  mutation('L23e', 'a prompt that is resolved after all were composed', composes, spot => {
    const prompt = previousOfNode(spot)
    if (prompt !== undefined) shift(spot.run, prompt, spot.at)
  }),
  mutation('L23f', 'a prompt that is resolved twice', resolves, ({ run, event, at }) => {
    repeat(run, event, at + 1)
  }),
  setsField('L23f', 'a prompt of another agent', resolves, 'agentId', 'local.acme.other'),
  setsField('L23f', 'another prompt than the brief’s', resolves, 'resolved', 'prompt:other@1.0.0'),
  setsField('L23f', 'another composition than the brief’s', composes, 'hash', `sha256:${'ff'.repeat(32)}`),
  mutation('L23f', 'prompts that are composed twice', composes, ({ run, event, at }) => {
    repeat(run, event, at + 1)
  }),
  changed('L23g', 'a call that is skipped', requests, event => {
    event.payload.call = Number(event.payload.call) + 1
  }),
  changed('L23g', 'a try that is skipped', requests, event => {
    event.payload.attempt = Number(event.payload.attempt) + 1
  }),
  setsField('L23g', 'a loss of another call', losses, 'call', 9),
  setsField('L23g', 'a call of another invocation', requests, 'invocationId', 'n9:9'),
  mutation('L23g', 'more calls than the brief allows', requests, spot => {
    briefOf(startOf(spot)).maxRounds = -9
  }),
  mutation('L23h', 'a usage that is told twice', usage, ({ run, event, at }) => {
    repeat(run, event, at + 1)
  }),
  lost(
    'L23h',
    'a usage that is never told',
    all(usage, spot => follows(spot, 'agent.decided', 'agent.toolCalled', 'assay.model.requested')),
  ),
  mutation('L23h', 'a call that is lost and answered', all(usage, isLive), spot => {
    const { invocationId } = startOf(spot).payload
    add(spot, spot.at + 1, 'assay.model.lost', {
      nodeId: spot.event.nodeId,
      invocationId,
      call: 1,
      attempt: 1,
      heldTokens: 1,
    })
  }),
  lost(
    'L23h',
    'an answer without reasoning',
    all(ofType('agent.reasoned'), isLive, spot => follows(spot, 'provider.usage') && !isBroken(spot)),
  ),
  mutation('L23h', 'reasoning that is told twice', all(ofType('agent.reasoned'), isLive), ({ run, event, at }) => {
    repeat(run, event, at + 1)
  }),
  mutation(
    'L23h',
    'reasoning that nobody wants',
    all(ofType('agent.reasoned'), isLive, spot => !spot.run.row.fork),
    ({ run }) => {
      const { payload } = run.events[0] as DraftEvent
      payload.configurable = { ...(payload.configurable as object), reasoningVerbosity: 'off' }
    },
  ),
  setsField('L23h', 'a usage of another model', all(usage, isLive), 'model', 'gpt-other'),
  changed(
    'L23h',
    'a usage at another price',
    all(usage, spot => spot.event.payload.costEstimateUsd !== undefined),
    event => {
      event.payload.costEstimateUsd = Number(event.payload.costEstimateUsd) + 0.000_1
    },
  ),
  changed('L23p', 'a usage that does not add up', usage, event => {
    event.payload.totalTokens = Number(event.payload.totalTokens) + 1
  }),
  mutation('L23p', 'a usage after the end', all(ends('completed'), completesNode), spot => {
    const told = before(spot, ({ type, nodeId }) => type === 'provider.usage' && nodeId === spot.event.nodeId)
    if (told !== undefined) move(spot.run, told, spot.run.events.indexOf(spot.event))
  }),
  changed('L23m', 'less set aside than the answer may take', requests, event => {
    event.payload.reservedTokens = 10
  }),
  changed('L23m', 'more room than was due', requests, event => {
    event.payload.maxOutputTokens = 5_000
    event.payload.reservedTokens = 9_000
  }),
  mutation(
    'L23m',
    'less room without a budget',
    all(requests, spot => spot.run.events[1]?.type !== 'budget.reserved'),
    ({ event }) => {
      event.payload.maxOutputTokens = 1
    },
  ),
  changed(
    'L23m',
    'less money set aside than the answer may cost',
    all(requests, spot => spot.event.payload.reservedCostUsd !== undefined),
    event => {
      event.payload.reservedCostUsd = 0
    },
  ),
  changed('L23m', 'a lost call that is held in part', losses, event => {
    event.payload.heldTokens = 1
  }),
  mutation(
    'L23m',
    'more room for what was only wrong',
    all(ofType('envelope.retry.attempted'), isLive, spot => spot.event.payload.reason === 'truncation' && roomy(spot)),
    ({ event }) => {
      event.payload.reason = 'parse-error'
    },
  ),
  mutation(
    'L22i',
    'an agent that is not sure and goes on',
    all(ends('completed'), spot => comesAfter(spot, 'agent.decided') && byWorker(spot)),
    spot => {
      const decided = previousOfNode(spot) as DraftEvent
      decided.payload.confidence = 0.1
      spot.event.payload.confidence = 0.1
    },
  ),
  mutation('L22i', 'an agent that is sure and held', all(holds, isLive), spot => {
    ;(previousOfNode(spot) as DraftEvent).payload.confidence = 0.99
  }),
  setsField('L22i', 'a refusal that counts as done', ends('escalated'), 'outcome', 'completed'),
  setsField(
    'L22i',
    'an acceptance that counts as escalated',
    all(ends('completed'), spot => comesAfter(spot, 'node.resumed')),
    'outcome',
    'escalated',
  ),
  setsField('L22i', 'another confidence at the end', ends('completed'), 'confidence', 0.123),
  changed('L22i', 'a check that was not made', ends('completed'), event => {
    if (event.payload.schemaValidated === undefined) event.payload.schemaValidated = true
    else delete event.payload.schemaValidated
  }),
]

const isBroken = (spot: Spot): boolean => {
  const told = nextOfNode(spot) as DraftEvent
  const then = nextOfNode({ ...spot, event: told, at: spot.run.events.indexOf(told) })
  return !['agent.decided', 'agent.toolCalled', 'assay.model.requested', 'envelope.truncated'].includes(
    then?.type ?? '',
  )
}

function completesNode(spot: Spot): boolean {
  return nextOf(spot)?.type === 'node.completed' && byWorker(spot)
}

function byWorker({ run, event }: Spot): boolean {
  return run.definition.nodes.find(({ id }) => id === event.nodeId)?.typeId === 'core.agent'
}

function isDone({ run, event, at }: Spot): boolean {
  return event.type === 'node.completed' && byWorker({ run, event, at }) && !run.row.fork
}

/** The call that follows got the room it was due. */
function roomy(spot: Spot): boolean {
  const [call, before] = [nextOfNode(spot), startOf(spot)]
  return (
    call?.type === 'assay.model.requested' &&
    Number(call.payload.maxOutputTokens) > Number(briefOf(before).maxOutputTokens)
  )
}

function callNow({ run, at }: Spot, _draft: unknown): void {
  const id = run.definition.nodes.find(({ typeId }) => typeId === 'core.agent')?.id ?? null
  const call = { call: 1, attempt: 1, maxOutputTokens: 9, reservedTokens: 9 }
  insert(run, at + 1, 'assay.model.requested', id, { nodeId: id, invocationId: `${id}:1`, ...call })
}
