import { TOOL_DELIVERED, TOOL_WITHHELD, VERIFICATION_STARTED } from '../../verification/verification-attempts.js'
import { after, all, before, changed, lost, type Mutation, mutation, ofType, type Spot, setsField } from '../draft.js'

/** Gates between a tool and its agent. */

const RETURNED = 'agent.toolReturned'
const OTHER_HASH = `sha256:${'0'.repeat(64)}`

const isHeld = ({ event }: Spot): boolean => event.secret?.gated === true
const goesOn = (spot: Spot): boolean => after(spot, ({ type }) => type === 'assay.model.requested') !== undefined
/** The event right before is the verdict of a gate that blocks. */
const isVerdicts = (spot: Spot): boolean =>
  spot.run.events[spot.at - 1]?.type === 'agent.verified' &&
  before(spot, ({ type }) => type === VERIFICATION_STARTED)?.payload.blocking === true

export const TOOL_GATE_MUTATIONS: readonly Mutation[] = [
  changed('L24t', 'what a tool brings, given past its gate', all(ofType(RETURNED), isHeld), event => {
    delete event.secret?.gated
  }),
  lost('L24t', 'a result that is judged, and neither given nor withheld', all(ofType(TOOL_DELIVERED), goesOn)),
  setsField('L24t', 'another result that is given', ofType(TOOL_DELIVERED), 'callId', 'call-0'),
  changed(
    'L24t',
    'words of a tool that failed, given past its gate',
    all(ofType(RETURNED), ({ event }) => event.secret?.withheld !== undefined),
    event => {
      delete event.secret?.withheld
    },
  ),
  mutation('L24b', 'a result of a tool that is given after a fail', all(ofType(TOOL_DELIVERED), isVerdicts), spot => {
    const verdict = before(spot, ({ type }) => type === 'agent.verified')
    if (verdict !== undefined) verdict.payload.verdict = 'fail'
  }),
  changed('L24c', 'another result than was passed, given', all(ofType(TOOL_DELIVERED), isVerdicts), event => {
    if (event.secret) event.secret.resultHash = OTHER_HASH
  }),
  lost('L24j', 'a tool’s result that is withheld and not told', all(ofType(TOOL_WITHHELD), isVerdicts, goesOn)),
  setsField('L24j', 'another result of the tool that is withheld', ofType(TOOL_WITHHELD), 'callId', 'call-0'),
]
