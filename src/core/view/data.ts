import { MASK } from '../run/redaction.js'
import type { KnownOf } from './public-event.js'
import type { ViewDraft } from './run-view.js'

/** Variables and channels as they were written. */

export function foldVariable({ variables }: ViewDraft, { payload }: KnownOf<'variable.changed'>): void {
  const { name, next } = payload
  if (name !== undefined && next !== undefined) variables.set(name, next)
}

export function foldChannel({ channels }: ViewDraft, { payload }: KnownOf<'channel.written'>): void {
  const { channel, value = null, reducer = '' } = payload
  if (channel === undefined) return
  const before = channels.get(channel)
  const isMasked = value === MASK || before?.isMasked === true
  channels.set(channel, { value, reducer, writes: (before?.writes ?? 0) + 1, isMasked })
}
