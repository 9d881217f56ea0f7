import type { Json } from '../../../src/core/json.js'
import type { Ended } from '../../../src/core/run/state.js'
import { renderConvergence } from '../../../src/wire/render-gates.js'
import { type End, foresee, type Label } from './model.js'
import { sayingsIn, servedOf } from './sayings.js'
import { resultIn, type Telling, type Turn } from './telling.js'
import { DIMENSIONS } from './worlds.js'

/** What is wrong with how far a run has come: each entry says what. */
export function wrongIn(telling: Telling, turn: Turn): string[] {
  const foreseen = foresee(
    telling.world,
    telling.heard.map(({ said }) => said),
  )
  if (foreseen.next !== turn.next) return [`${turn.next} is next, and ${foreseen.next} is foreseen`]
  if (foreseen.next === 'nothing') return [...wrongEnd(telling, foreseen.end), ...wrongWords(telling)]
  const asked = turn.next === 'vote' && foreseen.next === 'vote' ? differing('asked', turn.asked, foreseen.asked) : []
  return [...asked, ...wrongWords(telling)]
}

const differing = (what: string, told: unknown, foreseen: unknown): string[] => {
  const [here, there] = [told, foreseen].map(value => JSON.stringify(value) ?? 'absent')
  return here === there ? [] : [`${what} is ${here}, and ${there} is foreseen`]
}

const COMPARED = ['merged', 'label', 'verdicts', 'attempts', 'run', 'goalSatisfied', 'converged', 'against'] as const

/** The model of the contract foresees the same end. */
function wrongEnd(telling: Telling, end: End): string[] {
  const told = endIn(telling)
  const foreseen = { ...end, verdicts: end.verdicts.map(spelt), converged: end.goalSatisfied }
  return COMPARED.flatMap(what => differing(what, told[what], foreseen[what]))
}

const BY = { verifier: 'assay.verifier', gate: 'host:gate:g1', person: 'host:human-override' }

const spelt = ({ by, verdict, attempt, judged }: End['verdicts'][number]) => ({
  agentId: BY[by],
  verdict,
  attempt,
  criteria:
    by === 'person' ? 'human' : [...judged!, ...(by === 'gate' ? ['gate.on-fail.conditional-pass'] : [])].sort(),
})

/** What the log itself tells. */
function endIn(telling: Telling) {
  const { log } = telling
  const verdicts = log.filter(event => event.type === 'agent.verified')
  const completed = log.find(event => event.type === 'run.completed')?.payload
  const merged = mergedIn(telling)
  return {
    merged,
    label: merged === undefined ? undefined : (verdicts.at(-1)?.secret?.label ?? 'unverified'),
    verdicts: verdicts.map(({ payload: { agentId, verdict, criteria = [] }, secret }) => ({
      agentId,
      verdict,
      attempt: secret!.attempt,
      criteria: agentId === BY.person ? 'human' : [...criteria].sort(),
    })),
    attempts: Math.max(1, log.filter(({ type }) => type === 'assay.rework.began').length + 1),
    run: completed ? 'completed' : log.at(-1)?.type.replace('run.', ''),
    goalSatisfied: completed?.goalSatisfied,
    converged: renderConvergence(telling.state as Ended).convergence?.goalSatisfied,
    against: (completed?.against ?? []).map(({ what }) => what),
  }
}

/** Which result became of consequence, and at which event; undefined when none did. */
function mergedIn({ world: { place }, log }: Telling): number | undefined {
  const results = log.flatMap((event): number[] => {
    if (place === 'exit') return event.type === 'run.completed' ? [resultIn(event.payload.outputs)] : []
    if (event.type !== 'variable.changed') return []
    return event.payload.name === 'got' ? [resultIn([event.payload.next as Json])] : []
  })
  if (results.length > 1) throw new Error(`merged ${results.length} times`)
  return results[0]
}

/**
 * Whoever says *verified* or *satisfied*, in whatever a reader is told, has votes for it: every dimension was passed by a
 * vote that was cast in sight of exactly the result that was merged. Two exceptions are stated: a person has accepted the
 * result, and a supervisor has said that its criteria are met, with nothing standing against it.
 */
function wrongWords(telling: Telling): string[] {
  const merged = mergedIn(telling)
  const isVerified = merged !== undefined && telling.world.blocking && isPassed(telling, merged)
  const isSatisfied = isGround(telling, merged, isVerified)
  const sayings = sayingsIn(servedOf(telling))
  const wrong = sayings.flatMap(({ says, where, attempt = merged }) => {
    const isTrue = says === 'satisfied' ? isSatisfied : isVerified && attempt === merged
    return isTrue ? [] : [`${where} says ${says}`]
  })
  const isUntold = isVerified && !TOLD_IN.every(place => sayings.some(({ where }) => where.startsWith(place)))
  const hidden = telling.log.flatMap(event =>
    event.type === 'agent.verified' && isVerifiedLabel(event.secret?.label) && !isVerified
      ? ['label says verified']
      : [],
  )
  return [...wrong, ...hidden, ...(isUntold ? ['it is verified, and not everybody says so'] : [])]
}

/** A reader finds it in each of these. */
const TOLD_IN = ['/snapshot', '/events', '/summaries', '/attempts']

const isVerifiedLabel = (label: Label | undefined): boolean => label === 'verified' || label === 'conditional'

/** By what verifiers said in sight of that result, and nothing else. */
function isPassed({ heard }: Telling, result: number): boolean {
  const votes = heard.flatMap(({ result: of, said }) =>
    of === result && 'vote' in said && !Object.values(said.vote).includes('none') ? [said.vote] : [],
  )
  return DIMENSIONS.every(dimension => {
    const words = votes.flatMap(vote => vote[dimension] ?? [])
    return words.length > 0 && !words.includes('fail')
  })
}

/** Whether somebody may say that the goal is satisfied: by what was said, and nothing else. */
function isGround(
  { world: { claim, blocking }, heard }: Telling,
  merged: number | undefined,
  isVerified: boolean,
): boolean {
  const last = heard.at(-1)?.said ?? { work: 'broken' }
  const isAccepted = merged !== undefined && 'answer' in last && last.answer === 'accept'
  const worked = heard.flatMap(({ said }) => ('work' in said && said.work !== 'broken' ? [said.work] : []))
  if (worked.length > 0 && worked.at(-1) !== 'result') return false
  if (claim === undefined) return isVerified || isAccepted
  const isJudged = heard.some(({ said }) => 'vote' in said)
  return claim === 'met' && (isVerified || isAccepted || !isJudged || !blocking)
}
