import { mkdtemp, rm } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import type { Clock } from '../../engine/ports/clock.js'
import type { JsonObject } from '../../core/json.js'
import type { FileKind, FromStep, StepContract } from './messages.js'
import { type StepFile, stepFiles } from './step-files.js'
import { type StepEnd, type StepPlace, startStepProcess } from './step-process.js'

export type DescribeDeps = Omit<StepPlace, 'file' | 'home' | 'project'> & {
  readonly project: string
  readonly clock: Clock
}

/** What the steps of a project say of themselves, and what is wrong with those that say nothing. */
export type DescribedSteps = {
  readonly contracts: ReadonlyMap<string, StepContract>
  readonly problems: readonly string[]
}

/** A file that has not loaded by then never will. */
const LOAD_MS = 20_000
const AT_A_TIME = 2

/** Loads each step in a process of its own, as it will be when it runs, and runs none. */
export async function describeSteps(deps: DescribeDeps): Promise<DescribedSteps> {
  const contracts = new Map<string, StepContract>()
  const problems: string[] = []
  const files = await stepFiles(deps.project)
  for (let first = 0; first < files.length; first += AT_A_TIME)
    await Promise.all(
      files.slice(first, first + AT_A_TIME).map(async file => {
        const place = path.relative(deps.project, file.file)
        if (files.find(({ name }) => name === file.name) !== file)
          return problems.push(`${place}: another file already gives the step of this name`)
        const told = await describe(deps, file)
        if (typeof told === 'string') return problems.push(`${place}: ${told}`)
        return contracts.set(file.name, told)
      }),
    )
  return { contracts, problems: problems.sort() }
}

const describe = (deps: DescribeDeps, { file }: StepFile): Promise<StepContract | string> =>
  loaded(deps, file, 'step', message => {
    if (message.say !== 'loaded') return undefined
    const { input, output, repeat } = message.step
    return { input, output, repeat }
  })

/** The workflow that a file of TypeScript makes, or why it makes none. */
export const compileWorkflow = (deps: DescribeDeps, file: string): Promise<JsonObject | string> =>
  loaded(deps, file, 'workflow', message => (message.say === 'workflow' ? message.definition : undefined))

/** Loads a file in a process of its own and hears what it says of itself. */
async function loaded<Told extends object>(
  deps: DescribeDeps,
  file: string,
  kind: FileKind,
  toldBy: (message: FromStep) => Told | undefined,
): Promise<Told | string> {
  const home = await mkdtemp(path.join(os.tmpdir(), 'assay-step-'))
  try {
    let told: Told | string | undefined
    const limits = { effectId: `load-${path.basename(home)}`, timeoutMs: LOAD_MS, clock: deps.clock }
    const heard = (message: FromStep) => {
      if (message.say === 'unusable') told ??= `it cannot be loaded: ${message.problem}`
      else if (message.say === 'failed') told ??= `it fails while it is loaded: ${message.message}`
      else told ??= toldBy(message)
      if (told !== undefined) running.stop('aborted')
    }
    const running = await startStepProcess({ ...deps, file, kind, home }, limits, heard)
    const end = await running.ended
    return told ?? withoutWord(end)
  } finally {
    await rm(home, { recursive: true, force: true })
  }
}

const withoutWord = (end: StepEnd): string =>
  end.how === 'timeout' ? 'it does not finish loading' : `its process ends while it is loaded (${end.how})`
