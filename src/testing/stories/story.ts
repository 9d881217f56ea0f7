import type { JsonObject } from '../../core/json.js'
import { type Choose, chance, pick } from '../../log-check/testing/choice.js'
import type { Sketch } from '../workflow.js'
import { type Shape, workflow } from './workflows.js'

/** What is told of one host: a workflow, what its first run is given, and what happens meanwhile. */
export type Story = {
  readonly workflow: Sketch
  readonly configurable: JsonObject
  readonly floor: { readonly floor: number; readonly interruptKind: string }
  /** Things that happen before everything is left to itself; runs are read as they stand then when `isOpen`. */
  readonly steps: number
  readonly isOpen: boolean
  /** One step in so many is a pause, a cancellation or the death of the host. */
  readonly troubleOneIn: number
  readonly forks: readonly ('branch' | 'replay')[]
}

const PLAIN = ['noop', 'delay', 'fail', 'effect', 'variable', 'channel'] as const
const ASKING = ['approval', 'clarification', 'interrupt', 'variable', 'sub'] as const

/** What a story is mainly about. */
export const STORY_KINDS = {
  graph: { kind: 'graph', nodes: [...PLAIN, 'sub'] },
  line: { kind: 'line', nodes: [...PLAIN, 'approval'] },
  loop: { kind: 'loop', nodes: [...PLAIN, ...ASKING] },
  questions: { kind: 'graph', nodes: ASKING },
  agents: { kind: 'graph', nodes: ['agent', 'agent', 'agent', 'noop', 'sub'] },
  'scripted agents': { kind: 'graph', nodes: ['mock', 'mock', 'noop'] },
  orchestra: { kind: 'orchestra', nodes: ['noop', 'variable', 'sub'] },
  'orchestra led by an agent': { kind: 'orchestra', nodes: ['noop', 'agent', 'sub'], isLive: true },
} as const satisfies { readonly [kind: string]: Shape }

export type StoryKind = keyof typeof STORY_KINDS

export function makeStory(kind: StoryKind, choose: Choose): Story {
  const budget = choose(3) > 0 ? budgetFor(choose) : undefined
  return {
    workflow: workflow(STORY_KINDS[kind], choose),
    configurable: {
      ...(chance(choose, 12) ? { recursionLimit: 1 + choose(5) } : {}),
      ...(chance(choose, 12) ? { runTimeoutMs: 50 + choose(400) } : {}),
      maxLoopIterations: chance(choose, 4) ? 1 + choose(3) : 12,
      ...(chance(choose, 2) ? { escalationThreshold: 0.8 } : {}),
      ...(chance(choose, 3) ? { reasoningVerbosity: pick(choose, ['off', 'full']) } : {}),
      ...(budget ? { budget } : {}),
    },
    floor: {
      floor: pick(choose, [0.5, 0.8]),
      interruptKind: pick(choose, ['approval', 'approval', 'clarification', 'x-host-acme-review']),
    },
    steps: 4 + choose(11),
    isOpen: chance(choose, 2),
    troubleOneIn: pick(choose, [1_000, 12, 5]),
    forks:
      kind === 'scripted agents'
        ? []
        : pick<Story['forks']>(choose, [[], [], ['branch'], ['replay'], ['branch', 'replay']]),
  }
}

/** Enough, or hardly anything. */
function budgetFor(choose: Choose): JsonObject {
  const [tokens, cost, tools, retries] = chance(choose, 2) ? [500, 0.003, 1, 1] : [9_000, 0.2, 6, 5]
  return {
    ...(choose(3) > 0 ? { maxTokens: tokens + choose(400) } : {}),
    ...(chance(choose, 2) ? { maxCostUsd: cost } : {}),
    ...(chance(choose, 2) ? { maxToolCalls: tools + choose(2) } : {}),
    ...(chance(choose, 2) ? { maxRetries: retries } : {}),
    ...pick<JsonObject>(choose, [{}, { thresholdPercent: 20 }, { thresholdPercent: 50 }]),
    ...(chance(choose, 3) ? {} : { onExhaustion: 'interrupt' }),
  }
}
