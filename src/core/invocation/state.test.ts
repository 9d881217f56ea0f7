import { describe, expect, it } from 'vitest'
import { BRIEF } from '../../testing/agents.js'
import { HASH, tool } from '../../testing/invocations.js'
import type { ToolWanted } from './brief.js'
import { type InvocationState, isOnSurface, nextCall, type RoundState } from './state.js'

const READ = tool('mcp:files.read')
const brief = { ...BRIEF, tools: [READ] }
const own: ToolWanted = { toolId: READ.toolId, argsHash: HASH }
const foreign: ToolWanted = { toolId: 'x:other', argsHash: HASH }

const having = (...rounds: readonly Pick<RoundState, 'wanted' | 'results'>[]): InvocationState => ({
  invocationId: 'a:1',
  started: 2,
  brief,
  contents: 'c',
  rounds: rounds.map(round => ({ contents: 't', ...round })),
  calls: rounds.length,
  lost: 0,
  retries: 0,
  inputTokens: 0,
  outputTokens: 0,
  now: { is: 'between', cause: 2 },
})

describe('the next call of a round', () => {
  it('is the first of the surface that has not been dealt with', () => {
    expect(nextCall(having({ wanted: [foreign, own, own], results: {} }))).toEqual({ position: 1, wanted: own })
    const dealt = { wanted: [foreign, own, own], results: { 1: { code: 'forbidden' } } }
    expect(nextCall(having(dealt))).toEqual({ position: 2, wanted: own })
  })

  it('is none when all have been, when none is of the surface, and before the model has said anything', () => {
    expect(nextCall(having({ wanted: [own], results: { 0: { contents: 'r' } } }))).toBeUndefined()
    expect(nextCall(having({ wanted: [foreign, { argsHash: HASH }], results: {} }))).toBeUndefined()
    expect(nextCall(having())).toBeUndefined()
  })

  it('is never one of an earlier round', () => {
    expect(nextCall(having({ wanted: [own], results: {} }, { wanted: [], results: {} }))).toBeUndefined()
  })
})

it.each([READ.toolId, READ.toolId.toUpperCase(), ` ${READ.toolId}`, `${READ.toolId}\u200b`, 'toString', ''])(
  'R-TOOL-1 R-TOOL-2: %j is on the surface only if it is the very name',
  toolId => {
    expect(isOnSurface(brief, { toolId, argsHash: HASH })).toBe(toolId === READ.toolId)
  },
)
