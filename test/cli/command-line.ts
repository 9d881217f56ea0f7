import { main } from '../../src/cli/main.js'
import type { Result } from './assay-process.js'

/** The command line in this process: the same program, without the half second that a process takes to start. */
export async function runHere(args: readonly string[]): Promise<Result> {
  let stdout = ''
  let stderr = ''
  const code = await main(args, {
    out: line => {
      stdout += `${line}\n`
    },
    note: line => {
      stderr += `${line}\n`
    },
    draw: () => undefined,
    isLive: false,
    columns: 80,
    readStdin: async () => '',
  })
  return { code, stdout, stderr }
}
