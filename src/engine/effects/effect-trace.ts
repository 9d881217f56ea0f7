import { traceparentFor } from '../../trace.js'
import type { LoadedRun } from '../runtime/run-cache.js'

/** What an effect of a run is sent under. */
export const effectTrace = ({ runId, state }: Pick<LoadedRun, 'runId' | 'state'>, effectId: string): string =>
  traceparentFor(runId, state.phase === 'absent' ? undefined : state.started.traceparent, effectId)
