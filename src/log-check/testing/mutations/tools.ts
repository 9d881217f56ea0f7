import {
  after,
  all,
  changed,
  type DraftEvent,
  insert,
  lost,
  type Mutation,
  mutation,
  nextOf,
  ofType,
  repeat,
  type Spot,
  setsField,
} from '../draft.js'
import { closes, follows, isLive, nextOfNode, opens } from './invocations.js'

const calls = all(ofType('agent.toolCalled'), isLive)
const returns = all(ofType('agent.toolReturned'), isLive)
const with_ = (status: string) => all(returns, spot => spot.event.payload.status === status)
const refusals = ofType('envelope.refusal')
const retries = ofType('envelope.retry.attempted')
const giveUps = ofType('envelope.retry.exhausted')
const wanted = ({ event }: Spot) => (event.secret?.wanted ?? []) as { toolId?: string; argsHash: string }[]

export const TOOL_MUTATIONS: readonly Mutation[] = [
  changed('L23j', 'a tool that is not on the surface', calls, event => {
    Object.assign(event.payload, { toolName: 'mcp:rm', toolId: 'mcp:rm' })
  }),
  changed('L23j', 'a tool of almost that name', calls, event => {
    const name = String(event.payload.toolName).toUpperCase()
    Object.assign(event.payload, { toolName: name, toolId: name })
  }),
  changed('L23j', 'a surface that is counted wrongly', opens, event => {
    event.payload.toolSurfaceCount = Number(event.payload.toolSurfaceCount) + 1
  }),
  mutation('L23j', 'more tools than were counted, where that is all that is known', calls, ({ run, event }) => {
    for (const start of run.events)
      if (start.type === 'agent.invocation.started' && start.nodeId === event.nodeId) {
        start.payload.toolSurfaceCount = 0
        delete start.secret
      }
  }),
  changed('L23k', 'a call with other arguments', calls, event => {
    event.payload.argsHash = 'cd'.repeat(32)
  }),
  mutation('L23k', 'a call that nobody asked for', calls, ({ run, event, at }) => {
    // Other arguments, for a model may well ask for the same thing twice.
    repeat(run, { ...event, payload: { ...event.payload, argsHash: 'ad'.repeat(32) } }, at)
  }),
  mutation(
    'L23k',
    'a tool that was asked for and left out',
    all(ofType('provider.usage'), spot => follows(spot, 'assay.model.requested', 'agent.toolCalled') && asksMore(spot)),
    spot => {
      const tool = toolsOf(spot)[0]
      wanted(spot).push({ ...(tool === undefined ? {} : { toolId: tool }), argsHash: 'ef'.repeat(32) })
    },
  ),
  setsField('L23q', 'a forbidden call that took time', with_('forbidden'), 'durationMs', 3),
  setsField('L23q', 'a call too many that took time', with_('rate_limited'), 'durationMs', 3),
  changed('L23q', 'a call that took no time', with_('ok'), event => {
    delete event.payload.durationMs
  }),
  changed('L23q', 'a failure without an error', with_('error'), event => {
    delete event.payload.error
  }),
  setsField('L23q', 'a forbidden call that says otherwise', with_('forbidden'), 'error', { code: 'tool_failed' }),
  setsField('L31e', 'arguments of a live call', calls, 'inputs', { path: '/etc/passwd' }),
  setsField('L31e', 'what a tool returned', with_('ok'), 'outcome', 'the whole file'),
  setsField('L31e', 'arguments in the place of their hash', calls, 'argsHash', 'path=/etc/passwd'),
  setsField('L31e', 'the words of a tool in its error', with_('error'), 'error', {
    code: 'failed',
    message: 'no such file',
  }),
  changed('L31e', 'the words of a tool as the message of its error', with_('error'), event => {
    event.payload.error = { ...(event.payload.error as object), message: 'no such file' }
  }),
  changed('L31e', 'what an error is about beside its code', with_('forbidden'), event => {
    event.payload.error = { ...(event.payload.error as object), scope: 'tool' }
  }),
  changed('L23q', 'a forbidden call that does not say what it would take', with_('forbidden'), event => {
    const { details: _, ...error } = event.payload.error as { details: unknown }
    event.payload.error = error
  }),
  changed('L31e', 'a call of nobody', calls, event => {
    delete event.payload.principal
  }),
  changed('L31e', 'a call that does not say how it goes', calls, event => {
    delete event.payload.transport
  }),
  setsField('L31e', 'a call by another name', calls, 'callId', 'call-0'),
  setsField('L31e', 'a tool by two names', calls, 'toolId', 'mcp:other'),
  mutation('L23l', 'a refusal that is told twice', refusals, ({ run, event, at }) => {
    repeat(run, event, at + 1)
  }),
  mutation('L23l', 'a refusal that is tried again', refusals, ({ run, event, at }) => {
    insert(run, at + 1, 'envelope.retry.attempted', event.nodeId, {
      nodeId: event.nodeId,
      attempt: 2,
      reason: 'refusal',
    })
  }),
  setsField('L23l', 'the words of a refusal', refusals, 'refusalText', 'I would rather not'),
  mutation('L23l', 'a refusal that an answer is made up for', refusals, spot => {
    const end = nextOfNode(spot)
    if (end !== undefined) end.payload.outcome = 'completed'
  }),
  mutation(
    'L23l',
    'a refused node that completes',
    all(refusals, spot => nextOf(spot) !== undefined),
    spot => {
      const end = nextOf(spot) as DraftEvent
      end.type = 'node.completed'
      end.payload = { nodeId: end.nodeId, outputs: {} }
    },
  ),
  changed('L23r', 'a try that is not counted', retries, event => {
    event.payload.attempt = Number(event.payload.attempt) - 1
  }),
  changed('L23r', 'a try that is counted twice', retries, event => {
    event.payload.attempt = Number(event.payload.attempt) + 1
  }),
  changed('L23r', 'tries that are counted wrongly in the end', giveUps, event => {
    event.payload.totalAttempts = Number(event.payload.totalAttempts) + 1
  }),
  mutation('L23r', 'more tries than the brief allows', retries, spot => {
    setRetries(spot, 0)
  }),
  mutation('L23r', 'tries that are used up too early', giveUps, spot => {
    setRetries(spot, 9)
  }),
  mutation('L23r', 'a call after all tries were used up', giveUps, ({ run, event, at }) => {
    insert(run, at + 1, 'provider.usage', event.nodeId, {})
  }),
  setsField(
    'L23s',
    'an answer that was only wrong and counts as cut off',
    all(retries, spot => spot.event.payload.reason !== 'truncation'),
    'reason',
    'truncation',
  ),
  lost(
    'L23s',
    'a cut that is not told',
    all(ofType('envelope.truncated'), spot => follows(spot, 'envelope.retry.attempted')),
  ),
  setsField('L23s', 'a reason that this host does not have', retries, 'reason', 'type-drift'),
  changed(
    'L23s',
    'a correction that is left out',
    all(retries, spot => spot.event.secret !== undefined),
    event => {
      delete event.secret
    },
  ),
  setsField('L23s', 'a cut by another model', ofType('envelope.truncated'), 'model', 'gpt-other'),
  mutation(
    'L23s',
    'tries that are used up for another reason',
    all(giveUps, spot => spot.event.payload.finalReason === 'truncation' && nextOf(spot)?.type === 'node.failed'),
    spot => {
      ;(nextOf(spot) as DraftEvent).payload.error = { code: 'envelope_invalid', message: 'no' }
    },
  ),
  ...['prompt', 'result', 'body', 'input', 'output', 'apiKey', 'secret', 'credentials', 'token'].map(field =>
    setsField('L31d', `the beginning of an invocation that tells ${field}`, opens, field, 'x'),
  ),
  setsField('L31d', 'the end of an invocation that tells its result', closes, 'more', [{ result: 'x' }]),
  setsField('L31f', 'a model with a long name', opens, 'resolvedModel', 'x'.repeat(600)),
  setsField(
    'L31f',
    'a prompt that was applied for a long reason',
    ofType('agent.promptResolved'),
    'resolved',
    'x'.repeat(600),
  ),
  changed('L31f', 'a variable with a long name', ofType('prompt.composed'), event => {
    event.payload.variableHashes = { ['x'.repeat(600)]: `sha256:${'00'.repeat(32)}` }
  }),
]

function toolsOf(spot: Spot): string[] {
  const start = spot.run.events
    .slice(0, spot.at)
    .findLast(({ type, nodeId }) => type === 'agent.invocation.started' && nodeId === spot.event.nodeId)
  return ((start?.secret?.brief as { tools?: { toolId: string }[] })?.tools ?? []).map(({ toolId }) => toolId)
}

/** There is a tool that could have been asked for, and another call of the model. */
function asksMore(spot: Spot): boolean {
  const later = after(spot, ({ type, nodeId }) => nodeId === spot.event.nodeId && STEPS.includes(type))
  return toolsOf(spot).length > 0 && wanted(spot).length > 0 && later?.type === 'assay.model.requested'
}

const STEPS = ['assay.model.requested', 'agent.invocation.completed']

function setRetries(spot: Spot, maxRetries: number): void {
  for (const { type, nodeId, secret } of spot.run.events)
    if (type === 'agent.invocation.started' && nodeId === spot.event.nodeId)
      Object.assign((secret?.brief ?? {}) as object, { maxRetries })
}
