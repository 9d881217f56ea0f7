import { systemClock } from '../system.js'
import { serveJobs } from '../workers/serve-jobs.js'
import type { PureProbe } from './probe.js'
import type { CopiedSubject, ProbeAnswer, ProbeJob } from './probe-job.js'
import { runPure } from './run-pure.js'

/** Runs in a worker thread that may be killed at any moment. It is not told when nobody waits any more. */

const { signal } = new AbortController()

function answer({ probe, subject }: ProbeJob): ProbeAnswer {
  try {
    const shown = JSON.parse(subject) as CopiedSubject
    return { kind: 'found', finding: runPure(JSON.parse(probe) as PureProbe, { ...shown, signal }, systemClock) }
  } catch (error) {
    return { kind: 'broke', error: error instanceof Error ? error.name : 'probe_error' }
  }
}

serveJobs(answer, () =>
  answer({
    probe: '{"probe_id":"p","type":"regex","pattern":"a","absent":false}',
    subject: '{"output":"b","knowledge":[]}',
  }),
)
