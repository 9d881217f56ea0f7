import { isObject, type Json, type JsonObject } from '../../core/json.js'
import type { StoredEvent } from '../ports/event-log.js'
import type { KeptWords, SealedWords, WorkAt } from './sealed-words.js'

/** What one event adds to a transcript: what its log tells anyway, and the words that belong to it. */
export type TranscriptPart = {
  readonly told: { readonly is: string } & JsonObject
  /** Absent where there is nothing but what is told. */
  readonly open?: (words: SealedWords) => Promise<JsonObject>
}

type Reading = (payload: JsonObject, hidden: JsonObject, at: WorkAt) => TranscriptPart

/** By type of the event. */
const READINGS: { readonly [type: string]: Reading } = {
  'agent.invocation.started': ({ agentId = null, resolvedProvider = null, resolvedModel = null }, { contents }) => ({
    told: { is: 'prompt', agentId, provider: resolvedProvider, model: resolvedModel },
    open: async words => fromContents(await words.open(textOf(contents)), promptOf),
  }),
  'assay.model.requested': ({ call = null, attempt = null, maxOutputTokens = null }) => ({
    told: { is: 'request', call, attempt, maxOutputTokens },
  }),
  'assay.model.lost': ({ call = null, attempt = null }) => ({ told: { is: 'lost', call, attempt } }),
  'provider.usage': (payload, _hidden, at) => ({
    told: { is: 'reply', ...at.request, ...spentOn(payload) },
    open: async words => replyOf(await words.reply(at)),
  }),
  'agent.reasoned': ({ reasoning = '' }) => ({ told: { is: 'reasoning', text: reasoning } }),
  'agent.toolCalled': ({ toolId = null, callId = null, inputs }, { position }, at) => ({
    told: { is: 'tool-call', toolId, callId },
    open: async words =>
      inputs === undefined
        ? fromContents(await words.open(at.round), contents => argumentsOf(contents, position))
        : { args: inputs },
  }),
  'agent.toolReturned': (
    { toolId = null, callId = null, status = null, durationMs, error, outcome },
    { contents },
  ) => ({
    told: {
      is: 'tool-result',
      toolId,
      callId,
      status,
      ...(durationMs === undefined ? {} : { durationMs }),
      ...(error === undefined ? {} : { error }),
    },
    open: async words => {
      if (contents === undefined) return outcome === undefined ? {} : { text: JSON.stringify(outcome) }
      return fromContents(await words.open(textOf(contents)), ({ text = '', isError = false }) => ({ text, isError }))
    },
  }),
  'envelope.retry.attempted': ({ attempt = null, reason = null }, _hidden, at) => ({
    told: { is: 'asked-again', attempt, reason },
    // The log says only that something is to be mended; what, is kept with the reply.
    open: async words =>
      fromContents(await words.reply(at), ({ problem }) => (problem === undefined ? {} : { problem })),
  }),
  'envelope.retry.exhausted': ({ totalAttempts = null, finalReason = null }) => ({
    told: { is: 'given-up', attempt: totalAttempts, reason: finalReason },
  }),
  'envelope.refusal': ({ safetyCategory }) => ({
    told: { is: 'refused', ...(safetyCategory === undefined ? {} : { reason: safetyCategory }) },
  }),
  'envelope.truncated': ({ stopReason = null }) => ({ told: { is: 'cut-off', reason: stopReason } }),
  'agent.invocation.completed': ({ agentId = null, outcome = null }) => ({ told: { is: 'end', agentId, outcome } }),
}

/** Undefined for an event that has no part in what was said. */
export function partOf(event: StoredEvent, at: WorkAt): TranscriptPart | undefined {
  const reading = Object.hasOwn(READINGS, event.type) ? READINGS[event.type] : undefined
  if (reading === undefined || event.erased !== null) return undefined
  const hidden = event.secret === null ? {} : (JSON.parse(event.secret) as JsonObject)
  return reading(JSON.parse(event.payload) as JsonObject, hidden, at)
}

const textOf = (value: Json | undefined): string | undefined => (typeof value === 'string' ? value : undefined)

/** R-BUDGET-1: what the call was billed. `costUsd` is null where nobody has told the model's price. */
function spentOn(payload: JsonObject): JsonObject {
  const { inputTokens = 0, outputTokens = 0, cacheReadTokens, cacheWriteTokens, costEstimateUsd, cacheHit } = payload
  return {
    inputTokens,
    outputTokens,
    ...(cacheReadTokens === undefined ? {} : { cacheReadTokens }),
    ...(cacheWriteTokens === undefined ? {} : { cacheWriteTokens }),
    costUsd: costEstimateUsd ?? null,
    ...(cacheHit === true ? { cached: true } : {}),
  }
}

function fromContents(kept: KeptWords, read: (contents: JsonObject) => JsonObject): JsonObject {
  if (kept.ok === 'missing') return { missing: kept.why }
  return kept.ok ? read(kept.contents) : { error: { code: kept.code, message: kept.message } }
}

/** The request as the model was sent it first; what followed stands in the entries between. */
function promptOf({ system = '', user = '', tools = [], returnSchema, temperature }: JsonObject): JsonObject {
  const offered = (Array.isArray(tools) ? tools : []).filter(isObject)
  return {
    system,
    user,
    tools: offered.map(({ toolId = '', description = '' }) => ({ toolId, description })),
    ...(returnSchema === undefined ? {} : { returnSchema }),
    ...(temperature === undefined ? {} : { temperature }),
  }
}

function replyOf(kept: KeptWords): JsonObject {
  const read = fromContents(kept, ({ text = '', calls = [], problem, violation }) => ({
    text,
    ...(Array.isArray(calls) && calls.length > 0 ? { calls: calls.map(callOf) } : {}),
    ...(problem === undefined ? {} : { problem }),
    ...(violation === undefined ? {} : { violation }),
  }))
  const { retries = 0 } = kept.ok === true ? kept.told : {}
  return { ...read, ...(retries === 0 ? {} : { retries }) }
}

/** How the provider knows the call is of no use to anybody else. */
function callOf(call: Json): Json {
  if (!isObject(call)) return call
  const { id: _id, ...others } = call
  return others
}

function argumentsOf({ calls = [] }: JsonObject, position: Json | undefined): JsonObject {
  const call = Array.isArray(calls) && typeof position === 'number' ? calls[position] : undefined
  return isObject(call) ? { args: call.args ?? null } : { missing: 'purged' }
}
