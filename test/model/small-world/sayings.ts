import { isObject, type Json } from '../../../src/core/json.js'
import { statusOf } from '../../../src/core/run/state.js'
import { verificationsOf } from '../../../src/engine/queries/verifications.js'
import { encodeAll } from '../../../src/engine/log/encode.js'
import { verificationAnswer, verificationSummary } from '../../../src/http/documents/verification-doc.js'
import { CountingIds } from '../../../src/testing/engine-rig.js'
import { renderEvent, renderSnapshot } from '../../../src/wire/render.js'
import type { Telling } from './telling.js'

/** Everything that a reader is told of a run: its snapshot, its events and each attempt at its gate. */
export function servedOf({ rules, state, log }: Telling): { readonly [where: string]: Json } {
  const rows = encodeAll(log, '', new CountingIds())
  const attempts = verificationsOf(rows)
  const view = { runId: 'run-1', plan: rules.plan, state, status: statusOf(state) }
  const served = {
    snapshot: renderSnapshot(view as Parameters<typeof renderSnapshot>[0]),
    events: rows.map(row => JSON.parse(renderEvent('run-1', row, { engineVersion: '3' }))),
    summaries: attempts.map(verificationSummary),
    attempts: attempts.map(verificationAnswer),
  }
  return JSON.parse(JSON.stringify(served)) as { [where: string]: Json }
}

export type Saying = {
  readonly says: 'verified' | 'satisfied'
  readonly where: string
  /** That it is said of, where it says so. */
  readonly attempt?: number
}

/** Whoever says of something that it is verified, or that a goal is satisfied, in whatever document. */
export function sayingsIn(value: Json, where = ''): Saying[] {
  if (Array.isArray(value)) return value.flatMap((item, i) => sayingsIn(item, `${where}/${i}`))
  if (!isObject(value)) return []
  const attempt = typeof value.attempt === 'number' ? { attempt: value.attempt } : {}
  return Object.entries(value).flatMap(([name, field]) => {
    const at = `${where}/${name}`
    const says = saidBy(name, field)
    return says === undefined ? sayingsIn(field, at) : [{ says, where: at, ...attempt }]
  })
}

const VERIFIED: readonly Json[] = ['verified', 'conditional']

function saidBy(name: string, field: Json): Saying['says'] | undefined {
  if ((name === 'verified' && field === true) || (name === 'label' && VERIFIED.includes(field))) return 'verified'
  return /satisfied/i.test(name) && field === true ? 'satisfied' : undefined
}
