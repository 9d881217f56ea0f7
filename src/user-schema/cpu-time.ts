import { performance } from 'node:perf_hooks'

/**
 * Milliseconds of CPU that other threads of this process have used since the call: all of the process less what this
 * thread was busy. Node 20 cannot ask one thread. On a machine that is short of CPU it tells a thread that burns from
 * one that waits for its turn.
 */
export function startCpuMeter(): () => number {
  const before = process.cpuUsage()
  const loop = performance.eventLoopUtilization()
  return () => {
    const { user, system } = process.cpuUsage(before)
    return Math.max(0, (user + system) / 1_000 - performance.eventLoopUtilization(loop).active)
  }
}
