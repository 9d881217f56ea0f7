import { partsOf } from '../core/pattern.js'
import { sizeUpTo } from '../core/run/value-size.js'
import type { Clock } from '../engine/ports/clock.js'
import type { QueueLoad } from '../timing/fair-queue.js'
import { type WeightOf, WorkerPool } from '../workers/pool.js'
import { type ProbeSubject, type PureProbe, type PureProbes, probeUnavailable } from './probe.js'
import type { ProbeAnswer, ProbeJob } from './probe-job.js'
import { runPure } from './run-pure.js'

/** Threads cannot run TypeScript on Node 20, so from `src` (tests) the compiled worker in `dist` is used. */
const WORKER_FILE = import.meta.url.endsWith('.ts')
  ? new URL('../../dist/probes/probe-worker.js', import.meta.url)
  : new URL('./probe-worker.js', import.meta.url)

/** Parts of the pattern times characters of what is looked at: beyond so many, it is not done where everything else is. */
export const MOST_STEPS_HERE = 50_000

/** A search by itself takes no longer than a second (`pattern.ts`); a citation probe may make two. */
const TIMEOUT_MS = 3_000

type PooledProbes = PureProbes & { readonly load: QueueLoad }

/** What takes long is done in a worker, under limits; what does not is done here, because to hand it over takes longer. */
export function createPureProbes(clock: Clock, weightOf?: WeightOf, size = 2): PooledProbes {
  const pool = new WorkerPool<ProbeJob, ProbeAnswer>({
    file: WORKER_FILE,
    size,
    timeoutMs: TIMEOUT_MS,
    name: 'pool of probes',
    ...(weightOf ? { weightOf } : {}),
  })
  return {
    async run(probe, subject) {
      if (isShort(probe, subject)) return runPure(probe, subject, clock)
      const { output, knowledge, context } = subject
      const text = JSON.stringify(probe)
      const job = { probe: text, subject: JSON.stringify({ output, knowledge, context }) }
      const answer = await pool.run(job, text, subject.tenant)
      if (answer.kind === 'found') return answer.finding
      return probeUnavailable(
        probe.probe_id,
        answer.kind === 'broke' ? answer.error : 'took too long or too much memory',
      )
    },
    get load() {
      return pool.load
    },
    close: () => pool.close(),
  }
}

/** In the thread that asks, whatever it takes. */
export const pureProbesHere = (clock: Clock): PooledProbes => ({
  run: async (probe, subject) => runPure(probe, subject, clock),
  load: { running: 0, waiting: 0, names: 0 },
  close: async () => undefined,
})

function isShort(probe: PureProbe, { output, knowledge, context = [] }: ProbeSubject): boolean {
  const parts = 'pattern' in probe && probe.pattern !== undefined ? partsOf(probe.pattern) : 1
  let left = Math.floor(MOST_STEPS_HERE / parts)
  for (const value of [output, ...knowledge.map(({ text }) => text), ...context.map(entry => entry.value)]) {
    left -= sizeUpTo(value, left)
    if (left <= 0) return false
  }
  return true
}
