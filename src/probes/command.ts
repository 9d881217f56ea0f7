import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { stripVTControlCharacters } from 'node:util'
import { type ChildExit, runChild } from '../processes/child.js'
import {
  evidence,
  found,
  MAX_LENGTH,
  type Means,
  type ProbeFinding,
  type ProbeOf,
  type ProbeSubject,
  probeUnavailable,
} from './probe.js'

/** What shells answer for a command that is not there or cannot be run. */
const NOT_RUN: ReadonlySet<number> = new Set([126, 127])

/**
 * A command of the project over the output, which it gets on stdin and in a file. It sees nothing else of ours: its
 * home is a folder that is gone afterwards, and its environment is written here.
 */
export async function probeCommand(
  probe: ProbeOf<'command'>,
  { tenant, output, signal }: ProbeSubject,
  means: Means,
): Promise<ProbeFinding> {
  const { project, commands, searchPath, clock } = means
  if (project === undefined)
    return probeUnavailable(probe.probe_id, 'this host has no project folder to run commands in')
  // Without a word the shell that sets the limits would itself end well.
  if (probe.command.length === 0) return probeUnavailable(probe.probe_id, 'the command of this probe is empty')
  const input = JSON.stringify(output)
  return commands.run(tenant, () =>
    inOwnFolder(means, async home => {
      const file = path.join(home, 'output.json')
      await writeFile(file, input, { mode: 0o600 })
      const ended = await runChild({
        command: probe.command,
        cwd: project,
        env: { PATH: searchPath, HOME: home, LANG: 'C.UTF-8', ASSAY_OUTPUT_FILE: file },
        input,
        timeoutMs: probe.timeout_ms,
        clock,
        signal,
      })
      return judge(probe, ended)
    }),
  )
}

function judge({ probe_id, exit_code, timeout_ms }: ProbeOf<'command'>, ended: ChildExit): ProbeFinding {
  switch (ended.how) {
    case 'not-started':
      return probeUnavailable(probe_id, `could not be started: ${ended.code}`)
    case 'aborted':
      return probeUnavailable(probe_id, 'was called off')
    case 'timeout':
      return probeUnavailable(probe_id, `took longer than ${timeout_ms} ms`)
    case 'signal':
      return probeUnavailable(probe_id, `was ended by ${ended.signal}`)
    case 'exit': {
      if (ended.code !== exit_code && NOT_RUN.has(ended.code)) {
        return probeUnavailable(probe_id, `could not be run: exit code ${ended.code}`)
      }
      const codes = ended.code === exit_code ? '' : `; it must be ${exit_code}`
      const said = stripVTControlCharacters(ended.said).trim()
      const detail = lastOf(`exit code ${ended.code}${codes}`, said)
      return found(ended.code === exit_code ? 'held' : 'failed', evidence('metric', probe_id, detail))
    }
  }
}

/** What a program says last is what matters. */
function lastOf(head: string, said: string): string {
  if (said === '') return head
  const room = MAX_LENGTH - head.length - 2
  return `${head}:\n${said.length > room ? `…${said.slice(1 - room)}` : said}`
}

async function inOwnFolder<T>({ log }: Means, work: (folder: string) => Promise<T>): Promise<T> {
  const folder = await mkdtemp(path.join(os.tmpdir(), 'assay-probe-'))
  try {
    return await work(folder)
  } finally {
    await rm(folder, { recursive: true, force: true }).catch((error: NodeJS.ErrnoException) =>
      log.warn({ code: error.code }, "a probe's folder could not be removed"),
    )
  }
}
