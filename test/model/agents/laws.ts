import type { Json, JsonObject } from '../../../src/core/json.js'
import type { StoredEvent } from '../../../src/engine/ports/event-log.js'
import type { Happened } from './story.js'

/**
 * What is true whatever happens, found out from the log and from what was really asked outside:
 * ceilings are never crossed, not even by what is set aside; no effect happens twice unless the first time was cut off.
 * Each entry says what is broken, and where.
 */

const NANO = 1_000_000_000
const nanoOf = (usd: unknown): number => Math.round(Number(usd ?? 0) * NANO)

type Sums = { tokens: number; nano: number; toolCalls: number; retries: number }
const NOTHING: Sums = { tokens: 0, nano: 0, toolCalls: 0, retries: 0 }

const FIELDS = { maxTokens: 'tokens', maxCostUsd: 'nano', maxToolCalls: 'toolCalls', maxRetries: 'retries' } as const

/** What a budget of the log allows, dimension by dimension. */
export const ceilingsOf = (budget: JsonObject): [keyof Sums, number][] =>
  Object.entries(FIELDS).flatMap(([field, dimension]): [keyof Sums, number][] => {
    const ceiling = budget[field]
    return typeof ceiling === 'number' ? [[dimension, field === 'maxCostUsd' ? nanoOf(ceiling) : ceiling]] : []
  })

/** What a run may spend as its log ends. */
export function budgetOf(log: readonly StoredEvent[]): JsonObject {
  const told = log.findLast(({ type }) => type === 'budget.reserved')
  return told === undefined ? {} : ((JSON.parse(told.payload) as JsonObject).effectiveBudget as JsonObject)
}

type Ledger = { readonly broken: string[]; readonly spent: Sums; readonly held: Sums }

/**
 * Σ spent + Σ held + Σ set aside for calls + Σ granted to workers, after every event, beneath the ceilings of that time;
 * and what it comes to at the end.
 */
export function ledgerOf(log: readonly StoredEvent[]): Ledger {
  const broken: string[] = []
  const spent = { ...NOTHING }
  const held = { ...NOTHING }
  const aside = new Map<string, Sums>()
  let ceilings: [keyof Sums, number][] = []
  const add = (more: Partial<Sums>, to = spent) => {
    for (const [dimension, amount] of Object.entries(more)) to[dimension as keyof Sums] += amount
  }
  for (const { sequence, type, nodeId, payload, secret } of log) {
    const told = JSON.parse(payload) as JsonObject
    const kept = (secret === null ? {} : JSON.parse(secret)) as JsonObject
    switch (type) {
      case 'budget.reserved':
        ceilings = ceilingsOf(told.effectiveBudget as JsonObject)
        break
      case 'assay.model.requested':
        aside.set(`${nodeId}`, { ...NOTHING, tokens: Number(told.reservedTokens), nano: nanoOf(told.reservedCostUsd) })
        break
      case 'assay.model.lost':
        aside.delete(`${nodeId}`)
        add({ tokens: Number(told.heldTokens), nano: nanoOf(told.heldCostUsd) }, held)
        break
      case 'provider.usage':
        aside.delete(`${nodeId}`)
        if (told.cacheHit !== true) add({ tokens: Number(told.totalTokens), nano: nanoOf(told.costEstimateUsd) })
        break
      case 'agent.toolCalled':
        if (kept.paid !== true) add({ toolCalls: 1 })
        break
      case 'envelope.retry.attempted':
      case 'node.retried':
        add({ retries: 1 })
        break
      case 'core.workflowChain.event': {
        const worker = `${nodeId}/${String(told.workerId)}`
        if (kept.grant) {
          const { maxTokens = 0, maxCostUsd = 0, maxToolCalls = 0, maxRetries = 0 } = kept.grant as JsonObject
          aside.set(worker, {
            tokens: Number(maxTokens),
            nano: nanoOf(maxCostUsd),
            toolCalls: Number(maxToolCalls),
            retries: Number(maxRetries),
          })
        }
        if (String(told.phase).startsWith('child.')) {
          aside.delete(worker)
          add(sumsOf(kept.spent))
          add(sumsOf(kept.held), held)
        }
        if (told.phase === 'dispatch.failed') aside.delete(worker)
        break
      }
      case 'budget.consumed': {
        const { consumed, limit, dimension } = told
        if (Number(consumed) > Number(limit)) broken.push(`${sequence}: consumed ${payload}`)
        // What is told as consumed is what calls were billed for, and no more.
        const [paid, said] =
          dimension === 'cost' ? [spent.nano, nanoOf(consumed)] : [spent[dimension as 'tokens'], consumed]
        if (paid !== said) broken.push(`${sequence}: consumed ${payload}, paid were ${paid}`)
      }
    }
    for (const [dimension, ceiling] of ceilings) {
      const sum =
        spent[dimension] + held[dimension] + [...aside.values()].reduce((total, each) => total + each[dimension], 0)
      if (sum > ceiling) broken.push(`${sequence} ${type}: ${dimension} ${sum} of ${ceiling}`)
    }
  }
  return { broken, spent, held }
}

function sumsOf(told: Json | undefined): Sums {
  const { tokens = 0, costNano = 0, toolCalls = 0, retries = 0 } = (told ?? {}) as JsonObject
  return { tokens: Number(tokens), nano: Number(costNano), toolCalls: Number(toolCalls), retries: Number(retries) }
}

/** What was really billed outside, against what the log allows. */
export function billedTooMuch(happened: readonly Happened[], budget: JsonObject): string[] {
  const tokens = happened.reduce((sum, each) => sum + each.tokens, 0)
  const nano = happened.reduce((sum, each) => sum + each.nano, 0)
  const billed = { ...NOTHING, tokens, nano }
  return ceilingsOf(budget).flatMap(([dimension, ceiling]) =>
    billed[dimension] > ceiling ? [`really ${dimension} ${billed[dimension]} of ${ceiling}`] : [],
  )
}

const CUT_OFF = new Set(['crash during', 'crash before kept', 'pause at once', 'cancel'])

/** Effects that happened again although the time before was not cut off, and its outcome not given back. */
export function repeated(happened: readonly Happened[]): string[] {
  const before = new Map<string, Happened>()
  return happened.flatMap(call => {
    const last = before.get(call.id)
    before.set(call.id, call)
    if (last === undefined || CUT_OFF.has(last.disturbance) || last.isGivenBack) return []
    return [`${call.kind} ${call.id} again after "${last.disturbance}"`]
  })
}
