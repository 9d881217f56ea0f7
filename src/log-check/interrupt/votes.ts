import { eachRun, type LoggedEvent, type Rule } from '../checked.js'
import { isFields, list, number, show } from '../json.js'
import { withoutRemarks } from '../story.js'
import { isTimeout } from './answering.js'
import { behindMask, type Question, walkQuestions } from './questions.js'

/** Approvals that need more than one person. */
export const voteRules: readonly Rule[] = [
  {
    id: 'L28g',
    title:
      'Votes are of approvers, one each; the vote that decides closes the approval at once, and nothing else accepts or rejects it; nobody accepts who may not',
    source: 'core §7.7',
    assayOnly: true,
    checks: eachRun((run, say) => {
      const story = withoutRemarks(run)
      const placeOf = new Map(story.map((event, place) => [event, place]))
      walkQuestions(run, ({ event, open }) => {
        const place = placeOf.get(event)
        if (open === undefined || place === undefined || !isLegible(open)) return
        const problems =
          event.type === 'assay.interrupt.voted'
            ? voteProblems(open, event, story[place + 1])
            : event.type === 'interrupt.resolved'
              ? closingProblems(open, event, story[place - 1])
              : []
        for (const problem of problems) say(problem, event)
      })
    }),
  },
]

/** Readers outside may see a mask instead of the number. */
const isLegible = ({ data }: Question): boolean => typeof (data.requiredApprovals ?? 1) === 'number'

const required = ({ data }: Question): number => number(data.requiredApprovals) ?? 1

function voteProblems(question: Question, vote: LoggedEvent, next: LoggedEvent | undefined): string[] {
  const { voter, action } = vote.payload
  const approvers = list(question.data.approversList)
  const problems: string[] = []
  if (question.kind !== 'approval' || required(question) === 1) problems.push('a vote on what one person decides')
  if (question.votes.some(other => other.payload.voter === voter)) problems.push(`${show(voter)} votes twice`)
  if (approvers.length > 0 && !approvers.includes(voter)) problems.push(`${show(voter)} is no approver`)
  if (!['accept', 'reject'].includes(String(action)) || !list(question.data.actions).includes(action))
    problems.push(`a vote to ${show(action)}`)
  if (action === 'accept') problems.push(...barredProblems(question, voter, vote.payload.by))
  if (decides(question, vote) && next?.type !== 'interrupt.resolved')
    problems.push('the vote decides, and nothing follows')
  return problems
}

const cast = ({ votes }: Question, vote: LoggedEvent): number =>
  [...votes, vote].filter(other => other.payload.action === vote.payload.action).length

/** A veto by anyone, unless a majority of those required must refuse. */
function decides(question: Question, vote: LoggedEvent): boolean {
  if (vote.payload.action === 'accept') return cast(question, vote) >= required(question)
  return question.data.rejectionPolicy !== 'majority' || cast(question, vote) > Math.floor(required(question) / 2)
}

/** A gate may want a second person: who began the run does not accept its results, by key or by link, for anybody. */
function barredProblems({ data }: Question, ...names: readonly unknown[]): string[] {
  const barred = list(data.mayNotAccept)
  const who = names.find(name => barred.includes(name) || barred.some(one => name === `link:${String(one)}`))
  return who === undefined ? [] : [`${show(who)} accepts and may not`]
}

function closingProblems(question: Question, resolved: LoggedEvent, before: LoggedEvent | undefined): string[] {
  if (question.kind !== 'approval' || isTimeout(resolved)) return []
  const value = behindMask(resolved, 'resumeValue')
  // Readers outside see a mask where the value carries a secret.
  if (!isFields(value)) return []
  const action = value.action
  if (required(question) === 1) return action === 'accept' ? barredProblems(question, resolved.payload.resolvedBy) : []
  // Sending work back grants nothing, so it needs no votes.
  if (action === 'refine') return []
  const vote = question.votes.at(-1)
  if (vote === undefined || vote !== before) return [`${show(action)} without a vote that decides`]
  const earlier = { ...question, votes: question.votes.slice(0, -1) }
  const problems: string[] = []
  if (!decides(earlier, vote)) problems.push(`${question.votes.length} votes do not decide`)
  if (vote.payload.action !== action) problems.push(`a vote to ${show(vote.payload.action)} decides to ${show(action)}`)
  const by = `quorum:${cast(earlier, vote)}-of-${required(question)}`
  if (resolved.payload.resolvedBy !== by) problems.push(`decided by ${show(resolved.payload.resolvedBy)}, not ${by}`)
  return problems
}
