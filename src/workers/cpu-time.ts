import { existsSync, readFileSync, readlinkSync } from 'node:fs'
import { performance } from 'node:perf_hooks'

/** Where Linux keeps the account of the thread that asks. Undefined where threads cannot be told apart. */
export function accountOfThisThread(): string | undefined {
  if (process.platform !== 'linux' || !existsSync('/proc/thread-self/schedstat')) return undefined
  return `/proc/${readlinkSync('/proc/thread-self')}/schedstat`
}

/**
 * Milliseconds of CPU that a thread has used since the call. On a machine that is short of CPU it tells a thread that
 * burns from one that waits for its turn. Without an account, all of the process less what this thread was busy must
 * do, which charges a thread with what others burn: Node 20 cannot ask one thread.
 */
export function startCpuMeter(account?: string): () => number {
  if (account !== undefined) {
    const before = usedBy(account)
    return () => Math.max(0, usedBy(account) - before)
  }
  const before = process.cpuUsage()
  const loop = performance.eventLoopUtilization()
  return () => {
    const { user, system } = process.cpuUsage(before)
    return Math.max(0, (user + system) / 1_000 - performance.eventLoopUtilization(loop).active)
  }
}

/** A thread that is gone uses nothing more. */
function usedBy(account: string): number {
  try {
    const [nanoseconds] = readFileSync(account, 'utf8').split(' ', 1)
    return Number(nanoseconds) / 1e6
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'ENOENT' || code === 'ESRCH') return 0
    throw error
  }
}
