import { type MessagePort, parentPort } from 'node:worker_threads'
import { accountOfThisThread } from './cpu-time.js'
import type { Ready } from './pool-worker.js'

/**
 * Serves the jobs of a pool in the thread that calls it. The thread may be killed at any moment: it must hold nothing but
 * caches. `warmUp` is done first: what is slow because it is cold should not count as a job's time.
 */
export function serveJobs<Job, Answer>(answer: (job: Job) => Answer, warmUp: () => void): void {
  const port: MessagePort | null = parentPort
  if (port === null) throw new Error('runs as a worker thread only')
  port.on('message', (job: Job) => port.postMessage(answer(job)))
  warmUp()
  port.postMessage({ account: accountOfThisThread() } satisfies Ready)
}
