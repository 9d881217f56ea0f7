import type { Ancestry } from '../../core/replay/comparison.js'
import { StepFold, type SteppedRun } from '../../core/replay/steps.js'
import type { InspectedRun, RunEngine } from '../api.js'
import type { StoredEvent } from '../ports/event-log.js'
import { decode } from '../log/encode.js'

/** What a run did from an event on, step by step. */
export async function stepsIn(
  runId: string,
  log: AsyncIterable<StoredEvent>,
  from: number,
  most: number,
): Promise<SteppedRun> {
  const fold = new StepFold(from, most)
  for await (const event of log) fold.hear(decode(runId, event))
  return fold.told
}

/** Where a run comes from, back to the run that nobody forked. */
export async function ancestryOf(
  engine: Pick<RunEngine, 'inspect'>,
  { tenant, runId, state }: Pick<InspectedRun, 'tenant' | 'runId' | 'state'>,
): Promise<Ancestry> {
  const length = state.phase === 'absent' ? 0 : state.next
  const line = [{ runId, upTo: length }]
  for (let { fork } = state, upTo = length; fork !== undefined; ) {
    upTo = Math.min(upTo, fork.fromSeq)
    line.push({ runId: fork.sourceRunId, upTo })
    const source = await engine.inspect(tenant, fork.sourceRunId)
    fork = source?.state.fork
  }
  return line
}
