import type { Original } from '../../calibration/planted.js'
import type { Trial } from '../../calibration/trials.js'
import type { AssayClient } from '../../client/assay-client.js'
import type { JudgedResult } from '../../client/wire-shapes.js'
import { isObject, type Json, type JsonObject } from '../../core/json.js'
import type { Terminal } from '../terminal/terminal.js'
import { UsageError } from '../terminal/usage-error.js'
import { readJson } from './inputs.js'

/** The most verdicts that the server gives at once. */
export const MOST_VERDICTS = 200
export const USUAL_ORIGINALS = 3

export type OriginalOptions = {
  readonly output: readonly string[]
  readonly context: readonly string[]
  readonly fromRuns?: number
}

const GOOD: readonly string[] = ['verified', 'conditional', 'accepted']

type Outside = Pick<Terminal, 'readStdin'>

/** Outputs that are known to be good, each with the sources of it. What a gate was made to let through is not good. */
export async function originals(
  terminal: Outside,
  client: AssayClient,
  gateId: string,
  { output, context, fromRuns }: OriginalOptions,
): Promise<Original[]> {
  if (output.length > 0 && fromRuns !== undefined) throw new UsageError('give --output or --from-runs, not both')
  if (fromRuns === 0) throw new UsageError('--from-runs must be at least 1')
  if (context.length > 0 && output.length === 0)
    throw new UsageError('--context goes with --output; outputs of runs are judged by the sources of their runs')
  if (output.length > 0) return broughtOnes(terminal, client, gateId, output, context)
  const { verdicts } = await client.listVerdicts(gateId, { limit: MOST_VERDICTS })
  const good = new Map<string, Original>()
  for (const one of verdicts)
    if (GOOD.includes(one.label) && !good.has(one.resultHash)) good.set(one.resultHash, asJudged(one))
  if (good.size > 0) return [...good.values()].slice(0, fromRuns ?? USUAL_ORIGINALS)
  throw new UsageError(`gate ${gateId} has let nothing pass yet; give it a known-good output with --output FILE`)
}

/** What was judged, and the sources that were shown with it. */
export function asJudged({ output, context = [] }: Pick<JudgedResult, 'output' | 'context'>): Original {
  const entries = context.map(({ ref, value }) => [ref, value as Json] as const)
  return { output: output as Json, ...(entries.length === 0 ? {} : { context: Object.fromEntries(entries) }) }
}

/** What the gate names of a run; knowledge is its own, and nobody has to bring it. */
export async function namedSources(client: AssayClient, gateId: string): Promise<string[]> {
  const { document } = await client.getStandard('gates', gateId)
  const named = Array.isArray(document.context) ? document.context.map(String) : []
  return named.filter(ref => !ref.startsWith('knowledge:'))
}

/** Sources for want of which nobody could check something. */
export function lackingSources(trials: readonly Trial<Original>[], named: readonly string[]): string[] {
  const unchecked = trials.filter(({ judged, faults }) => judged === undefined && faults.includes('context_missing'))
  return named.filter(ref => unchecked.some(({ case: { context = {} } }) => !Object.hasOwn(context, ref)))
}

async function broughtOnes(
  { readStdin }: Outside,
  client: AssayClient,
  gateId: string,
  output: readonly string[],
  context: readonly string[],
): Promise<Original[]> {
  if (context.length > 1 && context.length !== output.length)
    throw new UsageError(
      `--context is given ${context.length} times and --output ${output.length} times; give it once for all, or once for each --output in the same order`,
    )
  if ([...output, ...context].filter(file => file === '-').length > 1)
    throw new UsageError('stdin (-) can be read once; name a file for the others')
  // A gate that is not there is better refused once than by every trial.
  const named = await namedSources(client, gateId)
  const read = (file: string, option: string) => readJson(file === '-' ? file : `@${file}`, option, readStdin)
  const outputs = await Promise.all(output.map(file => read(file, '--output')))
  const sources = await Promise.all(
    context.map(async file => sourcesIn(await read(file, '--context'), file, gateId, named)),
  )
  return outputs.map((one, i) => {
    const own = sources[i] ?? sources[0]
    return { output: one, ...(own && { context: own }) }
  })
}

/** By entry, as the gate names them. One that is not there is told by the trial: it could not be checked. */
function sourcesIn(value: Json, file: string, gateId: string, named: readonly string[]): JsonObject {
  if (!isObject(value)) throw new UsageError(`--context ${file} must give an object of sources, by entry of the gate`)
  const stray = Object.keys(value).find(ref => !named.includes(ref))
  if (stray === undefined) return value
  const names = named.length === 0 ? 'it names no sources' : `it names ${named.join(', ')}`
  throw new UsageError(`--context ${file}: gate ${gateId} has no ${JSON.stringify(stray)} in its context; ${names}`)
}
