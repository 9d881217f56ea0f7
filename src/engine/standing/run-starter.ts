import type { Refusal } from '../../core/problem.js'
import type { CreateRun } from '../api.js'
import type { Ids } from '../ports/clock.js'
import type { RunCache } from '../runtime/run-cache.js'
import type { PendingWrite, RunWriter } from '../runtime/run-writer.js'
import { type StartDeps, beginningOf } from '../runtime/start-run.js'

/** Makes the first steps of runs that standing streams start. Nothing is written: whoever wants the run commits it. */
export class RunStarter {
  constructor(
    private readonly deps: StartDeps & {
      readonly ids: Ids
      readonly cache: RunCache
      readonly runs: Pick<RunWriter, 'createChild'>
    },
  ) {}

  /** A run is never born before the moment at which its stream asked for it, whatever the clock says. */
  async born(request: CreateRun, notBefore: number): Promise<PendingWrite | Refusal> {
    const runId = this.deps.ids.run()
    const start = await beginningOf(this.deps, request, runId)
    if ('code' in start) return start
    return this.deps.runs.createChild(this.deps.cache.enter(runId), start.input, start.plan, notBefore)
  }
}
