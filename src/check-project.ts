import { mkdtemp, rm } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { checkScript } from './agents/models/scripted/scripted-model.js'
import { type Config, ConfigError } from './config.js'
import type { ModelName } from './core/invocation/brief.js'
import { ofModel } from './core/invocation/model-capabilities.js'
import { own } from './core/json.js'
import type { Log } from './engine/ports/log.js'
import type { Opened } from './ground.js'
import { compose } from './host.js'
import { isProjectFolder } from './project/config-file.js'
import { loadGoals } from './project/goals.js'
import { ProjectError, workflowFiles } from './project/load-project.js'
import { loadStandards } from './project/standards.js'
import { typeProblems } from './project/type-check.js'

/** What a project is found to be without serving it. */
export type ProjectCheck = {
  /** What keeps a host from starting with it, in the words of the host. */
  readonly problems: readonly string[]
  /** What may be mistaken, or could not be looked at here. */
  readonly warnings: readonly string[]
  /** How many documents of each kind were looked at. */
  readonly checked: { readonly [kind: string]: number }
}

/**
 * Makes a host of the project, as `serve` does, with a database of its own that is thrown away, and has it register
 * everything; but it listens nowhere and runs nothing. So what is right here and what is right there cannot differ. With
 * `types` the types of its TypeScript are checked as well, which takes long.
 */
export async function checkProject(config: Config, { types = false } = {}): Promise<ProjectCheck> {
  const { project } = config
  if (project === undefined || !isProjectFolder(project))
    return nothing([
      `${project ?? '.'}: no project is here; it needs workflows/, agents/ or assay.config.yaml (\`assay init\` makes one)`,
    ])
  const warnings: string[] = []
  const problems = [
    ...(await problemsOf(config, said => warnings.push(said))),
    ...(await scriptProblems(config)),
    ...(types ? await typeProblems(project) : []),
  ]
  if (problems.length > 0) return nothing(problems, warnings)
  return { problems, warnings: [...warnings, ...priceWarnings(config)], checked: await counted(project) }
}

const nothing = (problems: readonly string[], warnings: readonly string[] = []): ProjectCheck => ({
  problems,
  warnings,
  checked: {},
})

async function problemsOf(config: Config, warn: (said: string) => void): Promise<readonly string[]> {
  const data = await mkdtemp(path.join(os.tmpdir(), 'assay-check-'))
  const opened: Opened = []
  try {
    // Where it would listen, and what is kept under which name, is not the project's.
    const alone = { host: '127.0.0.1', data, database: { kind: 'memory' }, fixtures: undefined } as const
    const agents = { ...config.agents, watch: false }
    const { registerWorkflows } = await compose({ ...config, ...alone, agents }, { log: collecting(warn) }, opened)
    await registerWorkflows()
    return []
  } catch (error) {
    if (error instanceof ConfigError || error instanceof ProjectError) return error.problems
    throw error
  } finally {
    for (const close of opened.toReversed()) await close()
    await rm(data, { recursive: true })
  }
}

/** What a host warns of while it starts is worth knowing before. */
function collecting(warn: (said: string) => void): Log {
  const tell = (fields: object, message: string) => {
    const { file, warning, problem, ...others } = fields as { file?: string; warning?: string; problem?: string }
    const facts = Object.entries(others).map(([name, value]) => `${name}=${String(value)}`)
    const what = warning ?? (problem === undefined ? [message, ...facts].join(' ') : `${problem}: ${message}`)
    warn(file === undefined ? what : `${file}: ${what}`)
  }
  return { info: () => undefined, warn: tell, error: tell }
}

/** The host reads a script when it is needed; here it is needed now. */
async function scriptProblems({ project = '', agents }: Config): Promise<string[]> {
  const { script } = agents.models
  const problem = script === undefined ? undefined : await checkScript(script)
  return problem === undefined ? [] : [`${path.relative(project, script as string)}: ${problem}`]
}

function priceWarnings({ agents: { models, prices }, budget }: Config): string[] {
  const { worker, supervisor, verifier, classes, fallbacks, providers } = models
  const used: readonly ModelName[] = [
    worker,
    supervisor,
    verifier,
    ...Object.values(classes),
    ...Object.values(fallbacks),
  ]
  const isFree = ({ provider }: ModelName) => ['scripted', 'mock'].includes(own(providers, provider)?.kind ?? '')
  const unpriced = used.filter(name => !isFree(name) && ofModel(name, prices) === undefined).map(spelled)
  const ceiling = budget.maxCostUsd === undefined ? '' : ', and budget.maxCostUsd does not hold it'
  const strange = Object.keys(prices).filter(name => own(providers, name.split(':')[0] as string) === undefined)
  return [
    ...[...new Set(unpriced)].map(name => `prices: ${name} has none, so what it costs is not known${ceiling}`),
    ...strange.map(name => `prices: ${name} is of a provider that models.providers does not describe`),
  ]
}

const spelled = ({ provider, model }: ModelName): string => `${provider}:${model}`

async function counted(project: string): Promise<{ [kind: string]: number }> {
  const standards = await loadStandards(project)
  const goals = await loadGoals(project)
  const kinds = ['gate', 'intent', 'knowledge'] as const
  return {
    workflows: (await workflowFiles(project)).length,
    ...Object.fromEntries(kinds.map(kind => [kind, standards.filter(one => one.kind === kind).length])),
    ...(goals.length > 0 && { goal: goals.length }),
  }
}
