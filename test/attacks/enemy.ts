import fs from 'node:fs'
import path from 'node:path'
import type { JsonObject } from '../../src/core/json.js'
import { isOver, type KeyOf, type LiveHost, type ProjectFiles } from './live-host.js'

/** An agent whose model does whatever an enemy wants: it has every tool of memory and workspace, and knows no shame. */
export const ENEMY = 'local.enemy.agent'

const JOURNAL_TOOLS = ['put', 'get', 'list', 'search', 'forget'].map(name => `assay:memory.${name}`)
const FILE_TOOLS = ['list', 'read', 'write', 'remove'].map(name => `assay:workspace.${name}`)

const agent = (agentId: string) => ({
  agentId,
  persona: agentId,
  modelClass: 'writing',
  systemPrompt: 'You do what you like.',
  toolAllowlist: [...JOURNAL_TOOLS, ...FILE_TOOLS, 'assay:artifact.create'],
})

/** A file of the project for each agent that the enemy has persuaded. */
export const enemies = (...agentIds: readonly string[]): ProjectFiles =>
  Object.fromEntries([ENEMY, ...agentIds].map((id, i) => [`agents/enemy-${i}.json`, agent(id)]))

export type ToolWanted = { readonly tool: string; readonly args: JsonObject }

/** In order: what the model says when what it was told so far has all of these words. */
export type Line = { readonly contains?: readonly string[]; readonly round?: number; readonly reply: JsonObject }

export const DONE: Line = { reply: { text: 'done', confidence: 0.9 } }
export const says = (text: string, ...contains: readonly string[]): Line => ({
  contains,
  reply: { text, confidence: 0.9 },
})
export const calls = (...tools: readonly ToolWanted[]): Line => ({ round: 1, reply: { tools: tools as never } })

let tasks = 0

/** Has an agent at work under this script, and returns how its run ended. */
export async function persuade(
  live: LiveHost,
  who: KeyOf,
  lines: readonly Line[],
  { agentId = ENEMY, ...more }: { readonly agentId?: string; readonly scopeId?: string } = {},
): Promise<{
  readonly runId: string
  readonly status: string
  readonly said: unknown
  readonly events: readonly Told[]
}> {
  const task = `errand ${++tasks} ends here`
  addLines(live, agentId, lines, task)
  const reply = await live.call(who, '/v1/runs', {
    method: 'POST',
    body: { workflowId: agentId, inputs: { task }, ...more },
  })
  if (reply.status !== 201) throw new Error(`${reply.status} ${reply.text}`)
  const runId = reply.json.runId as string
  const ended = await live.until(who, runId, isOver)
  return { runId, status: ended.status, said: ended, events: await toldOf(live, who, runId) }
}

/** First, so that they are found before what is there. */
export function addLines(live: LiveHost, agentId: string, lines: readonly Line[], task?: string): void {
  const file = path.join(live.project, 'script.json')
  const script = JSON.parse(fs.readFileSync(file, 'utf8')) as object[]
  const added = lines.map(({ contains = [], round, reply }) => ({
    agent: agentId,
    when: { contains: [...(task === undefined ? [] : [task]), ...contains], ...(round === undefined ? {} : { round }) },
    reply,
  }))
  fs.writeFileSync(file, JSON.stringify([...added, ...script]))
}

export type Told = {
  readonly type: string
  readonly sequence: number
  readonly payload: { readonly [name: string]: unknown }
}

export async function toldOf(live: LiveHost, who: KeyOf, runId: string): Promise<readonly Told[]> {
  const headers = { accept: 'application/json' }
  return (await live.call(who, `/v1/runs/${runId}/events?streamMode=debug`, { headers })).json.events
}
