import { type Refusal, refuse } from '../core/problem.js'

/** `@writer` or `@local.notes.writer`, at the beginning of a word; what ends a sentence is no part of it. */
const MENTION = /(?<=^|[\s([{"',;:!?])@([A-Za-z0-9](?:[A-Za-z0-9:._-]*[A-Za-z0-9])?)/g

/** Of a refusal: so many agents, and so much of a name. */
const SHOWN = 20
const SHOWN_NAME = 64

export type Mentioned = { readonly agentId: string; readonly task: string }

/**
 * R-LIVE-25: the one agent that a message is for, and the message without its name. An `@` that names no agent is text,
 * as long as another names one.
 */
export function mentionIn(message: string, agentIds: readonly string[]): Mentioned | Refusal {
  const found = [...message.matchAll(MENTION)].map(match => {
    const name = match[1] as string
    const shown = name.length > SHOWN_NAME ? `${name.slice(0, SHOWN_NAME)}…` : name
    return { shown, at: match.index, length: match[0].length, agents: meant(name, agentIds) }
  })
  const known = found.filter(({ agents }) => agents.length > 0)
  const [first] = known
  if (first === undefined) {
    const [stray] = found
    const why = stray === undefined ? 'mentions no agent' : `mentions @${stray.shown}, which is no agent here`
    return refusal(`${why}; say who is meant as @AGENT`, agentIds)
  }
  const ambiguous = known.find(({ agents }) => agents.length > 1)
  if (ambiguous !== undefined)
    return refusal(`mentions @${ambiguous.shown}, which may be several agents; use the whole id`, ambiguous.agents)
  const meantAgents = [...new Set(known.flatMap(({ agents }) => agents))]
  if (meantAgents.length > 1) return refusal('mentions several agents; send one message to each', meantAgents)
  const task = joined(message.slice(0, first.at).trimEnd(), message.slice(first.at + first.length))
  if (task === '') return refusal(`says nothing but @${first.shown}; add what is to be done`, meantAgents)
  return { agentId: first.agents[0] as string, task }
}

/** What stood around a name, as if the name had never been there. */
function joined(before: string, rest: string): string {
  const after = rest.replace(/^[,:;]?(?:\s+|$)/, '')
  const isEnd = after === '' || /^[.!?]/.test(after)
  if (isEnd) return `${before.replace(/[,:;]$/, '')}${after}`.trim()
  return /[([{"']$/.test(before) ? `${before}${after}` : `${before} ${after}`.trim()
}

/** A whole id is that agent's alone, also where it is the last part of another's. */
function meant(name: string, agentIds: readonly string[]): readonly string[] {
  if (agentIds.includes(name)) return [name]
  return agentIds.filter(agentId => agentId.split('.').at(-1) === name)
}

function refusal(why: string, agentIds: readonly string[]): Refusal {
  const agents = agentIds.slice(0, SHOWN)
  const known = agents.length === 0 ? 'This host has no agents.' : `Agents: ${agents.join(', ')}.`
  return refuse('validation_error', `body.message ${why}. ${known}`, { field: 'body.message', agents })
}
