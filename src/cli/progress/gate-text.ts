import type { PublicEvent } from '../../core/view/public-event.js'
import { spanText } from '../terminal/span.js'
import { confidenceText, count } from './agent-text.js'

/** Results at gates as a person follows them: what is judged, by how many, and what came of it. */

type Payload = { readonly [name: string]: unknown }

/** What an event of a gate says, in a few words; undefined for all others. */
export function gateText({ type, payload }: PublicEvent): string | undefined {
  return TEXTS[type]?.((payload ?? {}) as Payload)
}

const TEXTS: { readonly [type: string]: (payload: Payload) => string } = {
  'assay.result.staged': told => `the result waits for its gates, target ${told.targetRef}`,
  'dws.verification.started': told => `${attemptOf(told)}: ${judgesOf(told)} on ${listOf(told.criteria)}`,
  'assay.verifier.began': told => `${attemptOf(told)}: verifier ${told.agentId}${againOf(told)}`,
  'assay.verifier.started': told => `${attemptOf(told)}: verifier ${told.agentId} is run ${told.childRunId}`,
  'assay.verifier.ended': told =>
    `${attemptOf(told)}: verifier ${told.agentId} ${told.vote === 'none' ? `gave no vote: ${told.fault}` : `says ${told.vote}`}`,
  'assay.verification.held': told =>
    `${attemptOf(told)}: no quorum, ${count(told.votes, 'vote')} and ${count(told.faults, 'fault')}; asked again in ${spanText(Number(told.retryInMs))}`,
  'assay.verification.resumed': told => `${attemptOf(told)}: asked again, round ${told.round}`,
  'assay.verification.confirming': told =>
    `${attemptOf(told)}: now ${listOf(told.criteria)}, which the targeted round has left out`,
  'dws.verification.finding_issued': told =>
    `${attemptOf(told)}: ${told.classification} finding ${told.findingId} in ${told.dimension}`,
  'dws.verification.verdict_rendered': told => `${attemptOf(told)}: ${verdictOf(told)}`,
  'agent.verified': told => `${told.agentId}: ${told.verdict} for ${told.target}${confidenceText(told)}`,
  'assay.rework.began': told =>
    `${attemptOf(told)}: ${told.workerId ?? 'the work'} again, with what was found (${told.scope})`,
  'assay.result.withheld': told =>
    `${attemptOf(told)}: what ${told.workerId} brought is not merged, ${told.criteriaFailed} of ${told.criteria} criteria not met`,
}

const attemptOf = ({ gateId, attempt }: Payload): string => `${gateId} attempt ${attempt}`

const againOf = ({ round }: Payload): string => (Number(round) > 1 ? `, round ${round}` : '')

const listOf = (names: unknown): string => (Array.isArray(names) && names.length > 0 ? names.join(', ') : 'nothing')

function judgesOf({ probes, probesFailed, verifiers }: Payload): string {
  const failed = Number(probesFailed) > 0 ? ` (${probesFailed} failed)` : ''
  return `${count(probes, 'probe')}${failed}, ${count(verifiers, 'verifier')}`
}

function verdictOf({ dwsVerdict, quorum, forced, label, judged }: Payload): string {
  const { votes = 0, passVotes = 0 } = Object(quorum) as { votes?: number; passVotes?: number }
  const cast = votes > 0 ? `, ${passVotes} of ${count(votes, 'vote')} for it` : ''
  const partly = label === 'verified in part' ? ', verified in part' : judged === 'part' ? ', judged in part' : ''
  return `${dwsVerdict}${cast}${forced ? ', let through all the same' : partly}`
}

/** What came of an attempt; undefined for all other events. */
export const gateOutcome = ({ type, payload }: PublicEvent): string | undefined =>
  type === 'dws.verification.verdict_rendered' ? verdictOf((payload ?? {}) as Payload) : undefined
