import { describe, expect, test } from 'vitest'
import { journalRuns } from '../../test/support/journal-runs.js'
import { runsIn } from '../../test/support/stored-runs.js'
import { gatedFamily, handing, score, writing } from '../testing/gated-families.js'
import { gatedRuns } from '../testing/gated-runs.js'
import { type Asking, askedOnce } from '../testing/model-runs.js'
import { peerRuns } from '../testing/peers/peer-runs.js'
import { STORY_KINDS, type StoryKind } from '../testing/stories/story.js'
import { toldRuns } from '../testing/stories/tell-story.js'
import { checkLog } from './check-log.js'
import type { CheckInput } from './checked.js'
import { RULES } from './rules.js'
import { fromSeed } from './testing/choice.js'
import { type Draft, draftOf, type Mutation } from './testing/draft.js'
import { AGENT_MUTATIONS } from './testing/mutations/agents.js'
import { ANSWER_MUTATIONS } from './testing/mutations/answers.js'
import { BOUND_MUTATIONS } from './testing/mutations/bounds.js'
import { BUDGET_MUTATIONS } from './testing/mutations/budgets.js'
import { CONFIDENCE_MUTATIONS } from './testing/mutations/confidence.js'
import { CONTENT_MUTATIONS } from './testing/mutations/content.js'
import { FAMILY_MUTATIONS } from './testing/mutations/families.js'
import { FORK_MUTATIONS } from './testing/mutations/forks.js'
import { GATE_MUTATIONS } from './testing/mutations/gates.js'
import { HANDOFF_MUTATIONS } from './testing/mutations/handoffs.js'
import { INVOCATION_MUTATIONS } from './testing/mutations/invocations.js'
import { JOURNAL_MUTATIONS } from './testing/mutations/journal.js'
import { NODE_MUTATIONS } from './testing/mutations/nodes.js'
import { ORCHESTRATOR_MUTATIONS } from './testing/mutations/orchestrators.js'
import { PEER_MUTATIONS } from './testing/mutations/peers.js'
import { QUESTION_MUTATIONS } from './testing/mutations/questions.js'
import { REFUSAL_MUTATIONS } from './testing/mutations/refusals.js'
import { RUN_MUTATIONS } from './testing/mutations/runs.js'
import { STORAGE_MUTATIONS } from './testing/mutations/storage.js'
import { STRUCTURE_MUTATIONS } from './testing/mutations/structure.js'
import { TOOL_GATE_MUTATIONS } from './testing/mutations/tool-gates.js'
import { TOOL_MUTATIONS } from './testing/mutations/tools.js'
import { VERDICT_MUTATIONS } from './testing/mutations/verdicts.js'
import { VERIFIER_MUTATIONS } from './testing/mutations/verifiers.js'
import { WORKER_MUTATIONS } from './testing/mutations/workers.js'

const MUTATIONS: readonly Mutation[] = [
  ...STRUCTURE_MUTATIONS,
  ...RUN_MUTATIONS,
  ...NODE_MUTATIONS,
  ...BOUND_MUTATIONS,
  ...CONTENT_MUTATIONS,
  ...FAMILY_MUTATIONS,
  ...QUESTION_MUTATIONS,
  ...ANSWER_MUTATIONS,
  ...ORCHESTRATOR_MUTATIONS,
  ...HANDOFF_MUTATIONS,
  ...WORKER_MUTATIONS,
  ...CONFIDENCE_MUTATIONS,
  ...AGENT_MUTATIONS,
  ...INVOCATION_MUTATIONS,
  ...TOOL_MUTATIONS,
  ...BUDGET_MUTATIONS,
  ...FORK_MUTATIONS,
  ...STORAGE_MUTATIONS,
]
/** Of gates, which have stories of their own. */
const GATED_MUTATIONS: readonly Mutation[] = [
  ...VERDICT_MUTATIONS,
  ...VERIFIER_MUTATIONS,
  ...GATE_MUTATIONS,
  ...TOOL_GATE_MUTATIONS,
]
const PER_MUTATION = 5
/** What an agent or an orchestra can come to is more than what a line of nodes can. */
const STORIES: { readonly [kind in StoryKind]: number } = {
  graph: 60,
  line: 60,
  loop: 60,
  questions: 60,
  agents: 120,
  'scripted agents': 20,
  orchestra: 150,
  'orchestra led by an agent': 50,
}
const seedOf = (i: number): number => i * 31 + 7
const LOGS: CheckInput[] = []
for (const kind of Object.keys(STORY_KINDS) as StoryKind[])
  for (let i = 0; i < STORIES[kind]; i += 1) LOGS.push(await toldRuns(kind, fromSeed(seedOf(i))))

const FAMILIES = await Promise.all(
  [9, 3, 8, 2, 10, 3, 9, 2, 8].map(async (first, i): Promise<CheckInput> => {
    const votes = [score(first), score(9)]
    const { rig } = await gatedFamily({ workflow: i % 2 === 0 ? handing : writing('w'), votes })
    return { runs: await runsIn(rig.store), complete: true }
  }),
)
const GATED = [
  ...FAMILIES.slice(0, 5),
  ...Array.from({ length: 296 }, (_, i) => gatedRuns(fromSeed(seedOf(i)))),
  ...FAMILIES.slice(5),
]

/** Models that lack something, and that would refuse what they answered, or the other way round. */
const LACKED = { provider: 'openai', model: 'small', missing: ['vision-input'] }
const STORIES_OF_MODELS: readonly Asking[] = [
  { today: 'refusal' },
  { said: { kind: 'refused' }, today: 'valid' },
  { brief: { substituted: LACKED } },
  { brief: { lacks: { ...LACKED, fallbackAttempted: true } } },
]
const OF_MODELS = await Promise.all(
  Array.from({ length: 20 }, async (_, i): Promise<CheckInput> => {
    const { rig } = await askedOnce(STORIES_OF_MODELS[i % STORIES_OF_MODELS.length] as Asking)
    return { runs: await runsIn(rig.store), complete: true }
  }),
)

/** Runs that write down and read, with their forks; each has nearly all that can be told of it. */
const OF_JOURNALS: CheckInput[] = []
for (let i = 0; i < 12; i += 1) OF_JOURNALS.push(await journalRuns(fromSeed(seedOf(i))))

/** Work at peers; there is one story of it, broken again and again. */
const PEERS: CheckInput = { runs: await runsIn((await peerRuns()).store), complete: true }
const OF_PEERS = Array.from({ length: PER_MUTATION }, (): CheckInput => ({ ...PEERS }))

/** A mutation that finds no place leaves its draft as it was, so that the next one can have it. */
const drafts = new Map<CheckInput, Draft>()

/** Broken copies of the first legal logs, of a fixed random order, that have a place for the mutation. */
function mutantsOf(mutation: Mutation, logs: readonly CheckInput[]) {
  const mutants: Draft[] = []
  const start = fromSeed(mutation.title.length)(logs.length)
  for (let i = 0; i < logs.length && mutants.length < PER_MUTATION; i++) {
    const log = logs[(start + i * 7) % logs.length] as CheckInput
    const draft = drafts.get(log) ?? draftOf(log)
    drafts.set(log, draft)
    if (!mutation.apply(draft, fromSeed(i))) continue
    drafts.delete(log)
    mutants.push(draft)
  }
  return mutants
}

const ALL = [
  ...MUTATIONS.map(mutation => ({ mutation, logs: LOGS })),
  ...GATED_MUTATIONS.map(mutation => ({ mutation, logs: GATED })),
  ...REFUSAL_MUTATIONS.map(mutation => ({ mutation, logs: OF_MODELS })),
  ...JOURNAL_MUTATIONS.map(mutation => ({ mutation, logs: OF_JOURNALS })),
  ...PEER_MUTATIONS.map(mutation => ({ mutation, logs: OF_PEERS })),
]

describe('every mutant is caught by the rule it was built for', () => {
  test.each(ALL.map(({ mutation, logs }) => [mutation.rule, mutation.title, mutation, logs] as const))(
    '%s catches %s',
    (rule, _title, mutation, logs) => {
      const mutants = mutantsOf(mutation, logs)
      expect(mutants).toHaveLength(PER_MUTATION)
      for (const mutant of mutants) expect(checkLog(mutant).map(finding => finding.rule)).toContain(rule)
    },
  )
})

test('L1–L34: every rule has a mutation, every mutation a rule, and there are 200 mutants or more', () => {
  const mutated = new Set(ALL.map(({ mutation }) => mutation.rule))
  expect([...mutated].sort()).toEqual(RULES.map(rule => rule.id).sort())
  expect(ALL.length * PER_MUTATION).toBeGreaterThanOrEqual(200)
})
