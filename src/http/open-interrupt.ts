import { type OpenInterrupt, openInterrupts } from '../core/run/interrupts.js'
import { isWaiting, type RunState } from '../core/run/state.js'
import type { RunView } from '../engine/api.js'
import { shownHash } from '../engine/shown-hash.js'
import { type InterruptDoc, renderInterrupt } from '../wire/interrupt.js'

export const hashOf = ({ asked }: OpenInterrupt): string => shownHash(asked.kind, asked.shown)

export const interruptDoc = (open: OpenInterrupt): InterruptDoc => renderInterrupt(open, hashOf(open))

/** What a waiting run asks; nothing when it only waits for what a child asks, and a replay asks nobody. */
export const asksOf = (view: RunView): OpenInterrupt[] =>
  isWaiting(view.status) && !isReplay(view.state) ? openInterrupts(view.plan, view.state) : []

const isReplay = (state: RunState): boolean => state.fork?.mode === 'replay'
