import type { ChildProcess } from 'node:child_process'
import { readdir, readFile } from 'node:fs/promises'

/** The process and whoever it has started, as far as they are still there and in its group. */
export function endGroup({ pid }: ChildProcess): void {
  if (pid === undefined) return
  end(-pid)
}

/**
 * Who has left the group and still has this line in its environment, where the system shows environments. Who has a new one
 * keeps the limits of memory and processor time that it was started under.
 */
export async function endInheritors(line: string): Promise<void> {
  const own = String(process.pid)
  const pids = (await readdir('/proc').catch(nobody)).filter(name => /^\d+$/.test(name) && name !== own)
  await Promise.all(
    pids.map(async pid => {
      const environment = await readFile(`/proc/${pid}/environ`, 'utf8').catch(() => '')
      if (environment.split('\0').includes(line)) end(Number(pid))
    }),
  )
}

/** No system but Linux shows them. */
const nobody = (): string[] => []

function end(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code !== 'ESRCH' && code !== 'EPERM') throw error
  }
}

/** Bytes of memory that the process has in use; undefined where the system does not say, or it is gone. */
export async function residentBytes({ pid }: ChildProcess): Promise<number | undefined> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => '')
  const kib = /^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1]
  return kib === undefined ? undefined : Number(kib) * 1_024
}
