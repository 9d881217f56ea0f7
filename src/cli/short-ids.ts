import type { Command } from 'commander'
import type { AssayClient } from '../client/assay-client.js'
import type { RunRow } from '../client/wire-shapes.js'
import { connect } from './commands/connect.js'
import { UsageError } from './terminal/usage-error.js'

/** The latest run that no other run has started. */
const LAST = '@last'
const BEGINNING = /^[0-9a-f][0-9a-f-]{3,34}$/
/** Runs that are looked through, newest first, for one whose id begins so. */
const LOOKED_AT = 5_000

/** Every command takes a run by the beginning of its id, if only one begins so, or as `@last`. */
export function takeShortIds(program: Command): void {
  program.hook('preAction', async (_program, command) => {
    for (const [i, argument] of command.registeredArguments.entries()) {
      const given: unknown = command.processedArgs[i]
      if (!/^(runId|a|b)$/.test(argument.name()) || given === undefined) continue
      const whole = (one: string) => (isShort(one) ? wholeId(command, one) : one)
      command.processedArgs[i] = Array.isArray(given) ? await Promise.all(given.map(whole)) : await whole(String(given))
    }
  })
}

const isShort = (given: string): boolean => given === LAST || BEGINNING.test(given)

/** As it was given where no run begins so: then the server says that there is none. */
async function wholeId(command: Command, given: string): Promise<string> {
  const client = await connect(command.optsWithGlobals())
  if (given === LAST) return (await lastOf(client)).runId
  const found: string[] = []
  let looked = 0
  for await (const { runId } of client.allRuns({ host: 'true', limit: 200 })) {
    if (runId.startsWith(given)) found.push(runId)
    looked += 1
    if (looked === LOOKED_AT || found.length > SHOWN) break
  }
  if (found.length < 2) return found[0] ?? given
  throw new UsageError(`several runs begin with ${given}: ${found.slice(0, SHOWN).join(', ')}; give more of the id`)
}

const SHOWN = 5

async function lastOf(client: AssayClient): Promise<RunRow> {
  for await (const run of client.allRuns()) if (run.parentRunId === undefined) return run
  throw new UsageError(`there is no run yet, so ${LAST} is none; start one with \`assay run\``)
}
