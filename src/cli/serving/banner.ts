import path from 'node:path'
import pc from 'picocolors'
import { localKeyFile } from '../../client/local-key.js'
import type { Config } from '../../config.js'
import { commandHere, type Served } from './served-config.js'

/** What is said once the host serves: where it is, what it goes by, and what to try. */
export function banner({ config, isBundled }: Served, url: string): string {
  const key = config.apiKey === undefined ? `in ${localKeyFile(config.data)}` : 'from ASSAY_API_KEY'
  return [
    `${pc.bold('assay')} is serving at ${pc.cyan(url)}`,
    row('data', config.data),
    row('database', databaseText(config)),
    row('workflows', workflowsText(config, isBundled)),
    row('model', modelText(config)),
    row('key', key),
    row('try', `${commandHere()} ${isBundled ? 'run hello --wait' : 'workflows list'}`),
  ].join('\n')
}

export const row = (name: string, value: string): string => `  ${pc.dim(name.padEnd(9))} ${value}`

const databaseText = ({ database }: Config): string =>
  database.kind === 'sqlite' ? database.file : database.kind === 'postgres' ? 'PostgreSQL' : 'memory only'

function workflowsText({ project }: Config, isBundled: boolean): string {
  if (project === undefined) return 'none'
  const folder = path.join(project, 'workflows')
  return isBundled ? `${folder} (examples; --project FOLDER serves yours)` : folder
}

function modelText({ agents }: Config): string {
  const { provider, model } = agents.models.worker
  return agents.models.providers[provider]?.kind === 'scripted'
    ? 'scripted: offline, for trying things out'
    : `${provider}:${model}`
}
