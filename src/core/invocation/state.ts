import type { EntryMade } from '../journal/entry.js'
import type { Brief, ToolWanted } from './brief.js'

/** An agent at work: how far it has come. What was said stays with the outcomes that are named here. */
export type InvocationState = {
  readonly invocationId: string
  /** Sequence of its `agent.invocation.started`. */
  readonly started: number
  readonly brief: Brief
  /** Where the texts of the brief are kept. */
  readonly contents: string
  /** Model calls that have been answered and count for the next, oldest first. */
  readonly rounds: readonly RoundState[]
  /** Model calls made so far. */
  readonly calls: number
  /** Tries of the next one that nobody heard the answer of. */
  readonly lost: number
  /** Times an answer that could not be used was asked for again. */
  readonly retries: number
  /** No next request takes more input tokens than this. */
  readonly inputTokens: number
  /** What the next answer may take. */
  readonly outputTokens: number
  readonly now: Doing
  /** What a conversation remembers of the latest answer, if that stands. */
  readonly exchange?: EntryMade
  /** Begun by the run that this one branched off from, which has paid for what was said so far. */
  readonly inherited?: true
}

export type Doing =
  /** A model is being called. */
  | Thinking
  /** A tool is being called. */
  | Using
  /** What a tool has brought is before its gates. */
  | ResultHeld
  /** What follows is decided with the event that led here, unless a pause comes between. */
  | { readonly is: 'between'; readonly cause: number }

export type Using = {
  readonly is: 'using'
  /** Which of the calls that the model asked for. */
  readonly position: number
  /** Sequence of its `agent.toolCalled`. */
  readonly called: number
  readonly callId: string
}

/** The agent is told of it when its gates have let it pass, or that they have not. */
export type ResultHeld = {
  readonly is: 'judging'
  readonly position: number
  readonly callId: string
  readonly toolId: string
  /** Where the tool's own words are kept, and what they add to the next request at most. */
  readonly contents: string
  readonly resultTokens: number
}

export type Thinking = {
  readonly is: 'thinking'
  readonly call: number
  readonly attempt: number
  /** Sequence of its `assay.model.requested`. */
  readonly requested: number
  readonly maxOutputTokens: number
  /** Set aside for it. */
  readonly tokens: number
  readonly costNano: number
  /** Pieces of reasoning heard so far. */
  readonly deltas: number
}

export type RoundState = {
  /** Where the model's own words are kept. */
  readonly contents: string
  readonly wanted: readonly ToolWanted[]
  /** By position in `wanted`: what has become of those that have been dealt with. */
  readonly results: { readonly [position: number]: ToolResult }
  /** It could not be used; the model is told what to mend. */
  readonly correction?: string
}

export type ToolResult =
  /** Where the tool's own words are kept. */
  | { readonly contents: string }
  /** The tool was not called, or its own words are not the agent's to see. */
  | { readonly code: string; readonly withheld?: WithheldResult }

/** A result that a gate has not let pass: which, and what it did not meet, in the gate's own keys. */
export type WithheldResult = { readonly gateId: string; readonly failed: readonly string[] }

/** The next of the latest round's calls that names a tool of the surface and has not been dealt with. */
export function nextCall({ rounds, brief }: InvocationState): { position: number; wanted: ToolWanted } | undefined {
  const round = rounds.at(-1)
  if (round === undefined) return undefined
  for (const [position, wanted] of round.wanted.entries())
    if (isOnSurface(brief, wanted) && round.results[position] === undefined) return { position, wanted }
  return undefined
}

/** R-TOOL-1, R-TOOL-2: what the model asks for is looked up again, by exact name, in what it was given. */
export const isOnSurface = ({ tools }: Brief, { toolId }: ToolWanted): boolean =>
  toolId !== undefined && tools.some(tool => tool.toolId === toolId)
