import type { QueueLoad } from '../timing/fair-queue.js'
import { type WeightOf, WorkerPool } from '../workers/pool.js'
import type { RedactionAnswer, RedactionJob } from './redaction-job.js'
import type { SecretRegister } from './redactor.js'

/** Threads cannot run TypeScript on Node 20, so from `src` (tests) the compiled worker in `dist` is used. */
const WORKER_FILE = import.meta.url.endsWith('.ts')
  ? new URL('../../dist/secrets/redact-worker.js', import.meta.url)
  : new URL('./redact-worker.js', import.meta.url)

/** A megabyte takes about 70 ms, and no file has more than 64 of them. */
const TIMEOUT_MS = 30_000
const MEMORY_MB = 1_024

/** Characters that are looked at where everything else is done: two milliseconds or so. */
const SHORT_TEXT = 32 * 1_024

/**
 * Takes secrets out of texts of any length, and finds them in what is no text. What is long is looked at by a worker, where
 * tenants take turns; what is short, here. Undefined when the worker has died of it.
 */
export type LongRedactor = {
  text(text: string, tenant: string): Promise<string | undefined>
  holdsKnown(text: string, tenant: string): Promise<boolean | undefined>
}

export function createLongRedactor(
  { redact, spellings, holdsKnown }: Pick<SecretRegister, 'redact' | 'spellings' | 'holdsKnown'>,
  weightOf?: WeightOf,
): LongRedactor & { readonly load: QueueLoad; close(): Promise<void> } {
  const pool = new WorkerPool<RedactionJob, RedactionAnswer>({
    file: WORKER_FILE,
    size: 2,
    timeoutMs: TIMEOUT_MS,
    memoryMb: MEMORY_MB,
    name: 'pool of redaction',
    ...(weightOf ? { weightOf } : {}),
  })
  const ask = (text: string, tenant: string, onlyKnown: boolean) =>
    pool.run({ text, spellings: spellings(), onlyKnown }, tenant, tenant)
  return {
    async text(text, tenant) {
      if (text.length <= SHORT_TEXT) return redact.text(text)
      const answer = await ask(text, tenant, false)
      return answer.kind === 'redacted' ? answer.text : undefined
    },
    async holdsKnown(text, tenant) {
      if (text.length <= SHORT_TEXT) return holdsKnown(text)
      const answer = await ask(text, tenant, true)
      return answer.kind === 'looked' ? answer.holdsKnown : undefined
    },
    get load() {
      return pool.load
    },
    close: () => pool.close(),
  }
}
