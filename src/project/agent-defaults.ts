import fs from 'node:fs'
import path from 'node:path'
import type { AgentSettings, ModelSettings, ProviderSettings } from '../agents/settings.js'
import { MOCK_PROVIDER, type ModelName } from '../core/invocation/brief.js'
import { own } from '../core/json.js'
import { WebAddress } from '../core/schema/kinds.js'
import { schemaProblems } from '../core/schema/problems.js'
import type { AgentSections } from './agent-settings.js'
import { modelNamed } from './model-name.js'

/** What agents go by where nobody has said otherwise. */

export type Environment = { readonly [name: string]: string | undefined }

type Chosen = { readonly [Role in 'worker' | 'supervisor' | 'verifier']: ModelName | undefined }

const SCRIPTED: ModelName = { provider: 'scripted', model: 'scripted' }

/** Variables that providers' own tools read too; an empty one is as good as none. */
const VARIABLES = {
  openai: { key: 'OPENAI_API_KEY', url: 'OPENAI_BASE_URL', model: 'OPENAI_MODEL' },
  anthropic: { key: 'ANTHROPIC_API_KEY' },
  google: { key: 'GOOGLE_GENERATIVE_AI_API_KEY' },
} as const

export function agentSettings(
  { models, prices, tools }: AgentSections,
  chosen: Chosen,
  env: Environment,
  {
    conformance,
    ...place
  }: { readonly project: string | undefined; readonly watch: boolean; readonly conformance: boolean },
  problems: string[],
): AgentSettings {
  const mock = conformance ? { [MOCK_PROVIDER]: { kind: 'mock' } as const } : {}
  const providers = { ...knownProviders(env, problems), ...completed(models.providers, env), ...mock }
  const worker = chosen.worker ?? whoAnswers(env, problems)
  const settings: ModelSettings = {
    worker,
    supervisor: chosen.supervisor ?? worker,
    verifier: chosen.verifier ?? worker,
    ...models,
    providers,
    script: models.script ?? scriptIn(place.project),
  }
  problems.push(...strangers(chosen, settings))
  return Object.freeze({
    ...place,
    models: Object.freeze(settings),
    prices,
    tools: Object.freeze(tools),
  })
}

/** A script that lies where one is looked for is meant. */
function scriptIn(project: string | undefined): string | undefined {
  const file = project === undefined ? undefined : path.join(project, 'scripted.yaml')
  return file !== undefined && fs.existsSync(file) ? file : undefined
}

/** Without a word about models: those whose key is at hand, and else the script, which needs none. */
function whoAnswers(env: Environment, problems: string[]): ModelName {
  const { openai, anthropic, google } = VARIABLES
  if (env[openai.key] || env[openai.url]) {
    const wanted = `openai:${env[openai.model] || 'gpt-5-mini'}`
    const name = modelNamed(wanted)
    if (name === undefined)
      problems.push(
        `${openai.model}: ${JSON.stringify(env[openai.model])} is not the name of a model; use one such as gpt-5-mini`,
      )
    return name ?? SCRIPTED
  }
  if (env[anthropic.key]) return { provider: 'anthropic', model: 'claude-sonnet-4-5' }
  return env[google.key] ? { provider: 'google', model: 'gemini-2.5-flash' } : SCRIPTED
}

function knownProviders(env: Environment, problems: string[]): { readonly [name: string]: ProviderSettings } {
  const { openai, anthropic, google } = VARIABLES
  const baseUrl = env[openai.url] || undefined
  if (baseUrl !== undefined)
    problems.push(
      ...schemaProblems(WebAddress(), baseUrl, 'models.providers.openai.baseUrl').map(
        problem => `${openai.url}: ${problem}`,
      ),
    )
  return {
    openai: {
      kind: 'openai',
      // A server of one's own may ask for no key.
      ...((baseUrl === undefined || env[openai.key]) && { apiKey: { env: openai.key } }),
      ...(baseUrl !== undefined && { baseUrl }),
    },
    anthropic: { kind: 'anthropic', apiKey: { env: anthropic.key } },
    google: { kind: 'google', apiKey: { env: google.key } },
    scripted: { kind: 'scripted' },
  }
}

/** What a file leaves unsaid of a known provider is as it would be without the file. */
function completed(
  given: { readonly [name: string]: ProviderSettings },
  env: Environment,
): { readonly [name: string]: ProviderSettings } {
  const known = knownProviders(env, [])
  return Object.fromEntries(Object.entries(given).map(([name, said]) => [name, { ...own(known, name), ...said }]))
}

/** Models of providers that nobody has described. */
function strangers(chosen: Chosen, { classes, providers }: ModelSettings): string[] {
  const ofClasses = Object.entries(classes).map(([name, model]) => [`classes.${name}`, model] as const)
  return [...Object.entries(chosen), ...ofClasses].flatMap(([role, name]) => {
    if (name === undefined || own(providers, name.provider) !== undefined) return []
    const known = Object.keys(providers).join(', ')
    const wanted = JSON.stringify(`${name.provider}:${name.model}`)
    return `models.${role}: ${wanted} names the provider ${name.provider}, which models.providers does not describe; use one of ${known}, or describe it`
  })
}
