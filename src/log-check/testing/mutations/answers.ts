import {
  type DraftEvent,
  insert,
  type Mutation,
  mutation,
  nextOf,
  nodeOf,
  ofType,
  remove,
  type Spot,
} from '../draft.js'

const answers = ofType('interrupt.resolved')
const decisions = ofType('approval.received')
const votes = ofType('assay.interrupt.voted')
const isLate = ({ event }: Spot): boolean => event.payload.reason === 'timeout'
const isKind =
  (...kinds: string[]) =>
  ({ event }: Spot): boolean =>
    kinds.includes(String(event.payload.kind))
const all =
  (...tests: ((spot: Spot) => boolean)[]) =>
  (spot: Spot): boolean =>
    tests.every(test => test(spot))
const not =
  (test: (spot: Spot) => boolean) =>
  (spot: Spot): boolean =>
    !test(spot)

const given = all(answers, not(isLate))
const approvals = all(given, isKind('approval'))
/** The vote that decides is told directly before, unless a branch begins between the two. */
const byQuorum = all(
  approvals,
  ({ run, event, at }) =>
    String(event.payload.resolvedBy).startsWith('quorum:') && run.events[at - 1]?.type === 'assay.interrupt.voted',
)

const accepts = ({ event }: Spot): boolean => event.payload.action === 'accept'
/** What was asked is told as it is. */
const isOpenly = (spot: Spot): boolean => requestOf(spot)?.secret?.data === undefined
/** One person's. */
const acceptance = all(
  approvals,
  isOpenly,
  spot => answerOf(spot).action === 'accept' && dataOf(spot).requiredApprovals === undefined,
)

export const ANSWER_MUTATIONS: readonly Mutation[] = [
  mutation('L28c', 'an interrupt that is resolved twice', answers, ({ run, event, at }) => {
    insert(run, at + 1, event.type, event.nodeId, event.payload)
  }),
  mutation('L28c', 'an answer to nothing that was asked', answers, ({ event }) => {
    event.payload.interruptId = 'int-9999'
  }),
  mutation('L28c', 'an answer to another kind of question', answers, ({ event }) => {
    event.payload.kind = 'conversation.start'
  }),
  mutation('L28c', 'a vote after the end', answers, ({ run, event, at }) => {
    insert(run, at + 1, 'assay.interrupt.voted', event.nodeId, {
      ...namesOf(event),
      voter: 'v',
      action: 'accept',
      by: 'v',
    })
  }),
  mutation('L28c', 'a question back after the end', answers, ({ run, event, at }) => {
    insert(run, at + 1, 'assay.interrupt.asked', event.nodeId, { ...namesOf(event), by: 'ann' })
  }),
  mutation('L28e', 'an answer after which its node does not resume', ofType('node.resumed'), ({ run, event }) => {
    remove(run, event)
  }),
  mutation(
    'L28e',
    'an answer without its older spelling',
    ofType('approval.received', 'clarification.resolved'),
    spot => remove(spot.run, spot.event),
  ),
  mutation('L28e', 'something between answer and resumption', ofType('node.resumed'), ({ run, at }) => {
    insert(run, at, 'log.appended', null, { level: 'info', message: 'between' })
  }),
  mutation('L28e', 'something between resumption and outcome', ofType('node.resumed'), ({ run, at }) => {
    insert(run, at + 1, 'log.appended', null, { level: 'info', message: 'between' })
  }),
  mutation('L28e', 'a resumption from another interrupt', ofType('node.resumed'), ({ event }) => {
    event.payload.interruptId = 'int-9999'
  }),
  mutation('L28e', 'an older spelling of no answer', ofType('node.suspended'), ({ run, event, at }) => {
    const payload = { nodeId: event.nodeId, action: 'accept', decidedBy: 'ann', decidedAt: '2026-01-01' }
    insert(run, at + 1, 'approval.received', event.nodeId, payload)
  }),
  mutation('L28f', 'a decision of nobody', all(decisions, not(saysTimeout)), ({ event }) => {
    delete event.payload.decidedBy
  }),
  mutation('L28f', 'a decision of someone without a name', all(decisions, not(saysTimeout)), ({ event }) => {
    event.payload.decidedBy = ''
  }),
  mutation('L28f', 'a decision that is not the answer', all(decisions, not(saysTimeout)), ({ event }) => {
    event.payload.action = event.payload.action === 'accept' ? 'reject' : 'accept'
  }),
  mutation('L28f', 'time that accepts', all(decisions, saysTimeout), ({ event }) => {
    Object.assign(event.payload, { action: 'accept', decidedBy: 'ann' })
  }),
  mutation('L28f', 'an answer that was not offered', approvals, spot => {
    const data = dataOf(spot)
    data.actions = (data.actions as string[]).filter(action => action !== answerOf(spot).action)
  }),
  mutation('L28f', 'an answer that asks back', approvals, spot => {
    answerOf(spot).action = 'ask'
  }),
  mutation(
    'L28f',
    'a rejection that is not told as one',
    all(approvals, ({ event }) => event.payload.outcome === 'rejected'),
    ({ event }) => {
      delete event.payload.outcome
    },
  ),
  mutation(
    'L28f',
    'an acceptance that is told as a rejection',
    all(approvals, ({ event }) => event.payload.outcome === undefined),
    ({ event }) => {
      event.payload.outcome = 'rejected'
    },
  ),
  mutation('L28f', 'a question left unanswered', all(given, isKind('clarification')), spot => {
    answerOf(spot).answers = { why: 'so' }
  }),
  mutation(
    'L28f',
    'answers told otherwise',
    spot => ofType('clarification.resolved')(spot) && !isMasked(spot),
    ({ event }) => {
      event.payload.answers = { why: 'no', how: 'no' }
    },
  ),
  mutation('L28f', 'an event that belongs to something else', all(given, isKind('external-event')), spot => {
    answerOf(spot).order = 8
  }),
  mutation('L28g', 'a second vote of one person', all(votes, hasVoted), spot => {
    spot.event.payload.voter = votesBefore(spot)[0]?.payload.voter
  }),
  mutation(
    'L28g',
    'a vote of someone who is no approver',
    all(votes, spot => dataOf(spot).approversList !== undefined),
    ({ event }) => {
      event.payload.voter = 'mallory'
    },
  ),
  mutation('L28g', 'a vote to accept of someone who may not', all(votes, accepts, isOpenly), spot => {
    dataOf(spot).mayNotAccept = ['nobody', spot.event.payload.voter]
  }),
  mutation('L28g', 'a vote to accept, brought by someone who may not', all(votes, accepts, isOpenly), spot => {
    dataOf(spot).mayNotAccept = ['nobody']
    spot.event.payload.by = 'nobody'
  }),
  mutation('L28g', 'an acceptance of someone who may not', acceptance, spot => {
    dataOf(spot).mayNotAccept = ['nobody', spot.event.payload.resolvedBy]
  }),
  mutation('L28g', 'an acceptance of someone who may not, through a link', acceptance, spot => {
    dataOf(spot).mayNotAccept = ['nobody']
    spot.event.payload.resolvedBy = 'link:nobody'
  }),
  mutation('L28g', 'a vote for what cannot be voted for', votes, ({ event }) => {
    event.payload.action = 'refine'
  }),
  mutation('L28g', 'a vote for what was not offered', votes, spot => {
    dataOf(spot).actions = ['refine']
  }),
  mutation(
    'L28g',
    'a vote where one person decides',
    all(approvals, spot => dataOf(spot).requiredApprovals === undefined),
    ({ run, event, at }) => {
      insert(run, at, 'assay.interrupt.voted', event.nodeId, {
        ...namesOf(event),
        voter: 'ann',
        action: 'accept',
        by: 'a',
      })
    },
  ),
  mutation(
    'L28g',
    'an acceptance by too few',
    all(byQuorum, spot => answerOf(spot).action === 'accept'),
    spot => {
      dataOf(spot).requiredApprovals = Number(dataOf(spot).requiredApprovals) + 1
    },
  ),
  mutation(
    'L28g',
    'a rejection by no majority',
    all(byQuorum, spot => answerOf(spot).action === 'reject' && dataOf(spot).rejectionPolicy === undefined),
    spot => {
      dataOf(spot).rejectionPolicy = 'majority'
    },
  ),
  mutation(
    'L28g',
    'a veto that has no effect',
    all(
      votes,
      ({ run, event, at }) =>
        event.payload.action === 'reject' &&
        !['interrupt.resolved', 'assay.run.forked'].includes(run.events[at + 1]?.type ?? ''),
    ),
    spot => {
      dataOf(spot).rejectionPolicy = 'single-veto'
    },
  ),
  mutation('L28g', 'a decision without the vote that decides', byQuorum, ({ run, at }) => {
    remove(run, run.events[at - 1] as DraftEvent)
  }),
  mutation('L28g', 'something between vote and decision', byQuorum, ({ run, at }) => {
    insert(run, at, 'log.appended', null, { level: 'info', message: 'between' })
  }),
  mutation('L28g', 'a decision of one where many are asked', byQuorum, ({ event }) => {
    event.payload.resolvedBy = 'ann'
  }),
  mutation('L28g', 'a decision that is not what was voted for', byQuorum, ({ run, event, at }) => {
    const vote = run.events[at - 1] as DraftEvent
    vote.payload.action = event.payload.outcome === 'rejected' ? 'accept' : 'reject'
  }),
  mutation('L28h', 'time that runs out without a limit', all(answers, isLate), spot => {
    delete requestOf(spot)?.payload.timeoutMs
    delete nodeOf(spot.run, spot.event.nodeId)?.settings?.timeoutMs
  }),
  mutation('L28h', 'time that runs out too early', all(answers, isLate), spot => {
    Object.assign(requestOf(spot)?.payload ?? {}, { timeoutMs: 1_000_000 })
    delete nodeOf(spot.run, spot.event.nodeId)?.settings?.timeoutMs
  }),
  mutation('L28h', 'an approval that time grants', all(answers, isLate, isKind('approval', 'low-confidence')), spot => {
    answerOf(spot).action = 'accept'
    delete spot.event.payload.outcome
  }),
  mutation(
    'L28h',
    'time that rejects what is no approval',
    all(answers, isLate, isKind('custom', 'clarification')),
    spot => {
      spot.event.payload.outcome = 'rejected'
    },
  ),
  mutation(
    'L28h',
    'a node that completes although nobody answered',
    spot => answers(spot) && spot.event.payload.outcome === 'timed-out' && settledBy(spot)?.type === 'node.failed',
    spot => {
      Object.assign(settledBy(spot) ?? {}, { type: 'node.completed' })
    },
  ),
  mutation(
    'L28h',
    'an answer that comes too late',
    all(given, spot => spot.event.at > Number(requestOf(spot)?.at) && !isForkedBetween(spot)),
    spot => {
      Object.assign(requestOf(spot)?.payload ?? {}, { timeoutMs: spot.event.at - Number(requestOf(spot)?.at) })
    },
  ),
]

function saysTimeout({ event }: Spot): boolean {
  return event.payload.action === 'timeout'
}

function hasVoted(spot: Spot): boolean {
  return votesBefore(spot).length > 0
}

const namesOf = ({ nodeId, payload }: DraftEvent): object => ({ nodeId, interruptId: payload.interruptId })

const requestOf = ({ run, event }: Spot): DraftEvent | undefined =>
  run.events.find(
    other => other.type === 'interrupt.requested' && other.payload.interruptId === event.payload.interruptId,
  )

const dataOf = (spot: Spot): Record<string, unknown> => (requestOf(spot)?.payload.data ?? {}) as Record<string, unknown>

/** The answer, wherever the event keeps it. */
const answerOf = ({ event }: Spot): Record<string, unknown> =>
  (event.secret?.resumeValue ?? event.payload.resumeValue) as Record<string, unknown>

const isMasked = ({ run, at }: Spot): boolean => run.events[at - 1]?.secret !== undefined

const votesBefore = ({ run, event, at }: Spot): DraftEvent[] =>
  run.events
    .slice(0, at)
    .filter(other => other.type === event.type && other.payload.interruptId === event.payload.interruptId)

/** How the node settles after the answer; it resumes first. */
const settledBy = (spot: Spot): DraftEvent | undefined => {
  const resumed = nextOf(spot)
  return resumed && nextOf({ ...spot, event: resumed, at: spot.run.events.indexOf(resumed) })
}

/** A branch gives what it waits for more time. */
const isForkedBetween = (spot: Spot): boolean =>
  spot.run.events.slice(requestOf(spot)?.sequence, spot.at).some(event => event.type === 'assay.run.forked')
