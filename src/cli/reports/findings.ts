import pc from 'picocolors'
import type { Verification, VerificationRow } from '../../client/wire-shapes.js'
import { moneySpent, count } from '../progress/agent-text.js'
import { printable } from '../terminal/terminal.js'

/** What gates found, as someone reads it who has to act on it. */

export const ATTEMPTS_HEADER = ['N', 'GATE', 'ATTEMPT', 'WORK', 'VERDICT', 'FINDINGS', 'WORK COST', 'JUDGING', 'RESULT']

export const attemptRow = (one: VerificationRow): string[] => [
  String(one.n),
  one.gateName,
  String(one.attempt),
  workOf(one),
  one.outcome === 'none' ? one.verdict : `${one.verdict} → ${one.outcome}`,
  countsText(one.findings),
  one.cost?.execution === undefined ? '' : moneySpent(one.cost.execution),
  one.cost === undefined ? '' : moneySpent(one.cost.verification),
  `${one.label}${one.best ? ', best so far' : ''}`,
]

/** Whose work it is: a worker's, a tool's, or the node's own. */
const workOf = ({ nodeId, workerId, toolId = workerId }: Work): string =>
  toolId === undefined ? nodeId : `${nodeId}/${toolId}`

type Work = { readonly nodeId: string; readonly workerId?: string; readonly toolId?: string }

function countsText(findings: VerificationRow['findings']): string {
  const said = Object.entries(findings).flatMap(([name, found]) => (found > 0 ? [`${found} ${name}`] : []))
  return said.join(', ') || 'none'
}

/** The latest attempt at each piece of work, in the order in which those were first judged. */
export function latestOf(rows: readonly VerificationRow[]): readonly VerificationRow[] {
  const latest = new Map<string, VerificationRow>()
  for (const row of rows)
    latest.set(JSON.stringify([row.gateId, row.nodeId, row.toolId ? row.target : row.workerId]), row)
  return [...latest.values()]
}

/** One attempt: its criteria, then each finding with what proves it and what to do about it. */
export function attemptLines(one: Verification): string[] {
  const outcome = one.outcome === 'none' ? '' : ` → ${one.outcome}`
  const title = `${one.gateName} attempt ${one.attempt} at ${workOf(one)}: ${one.verdict}${outcome} (${one.label})`
  const unchecked = (one.unchecked ?? []).map(
    ({ dimension, reason }) => `  ${pc.yellow('could not check')} ${printable(`${dimension}: ${reason}`)}`,
  )
  return [pc.bold(printable(title)), ...criteriaLines(one), ...unchecked, ...one.findings.flatMap(findingLines)]
}

const criteriaLines = ({ criteria }: Verification): string[] =>
  criteria.map(({ dimension, score, pass_threshold, passed, settledBy, outcome }) => {
    const reached = score === undefined ? '' : ` ${score} of at least ${pass_threshold}`
    if (outcome === 'could_not_check')
      return `  ${pc.yellow('?')} ${printable(dimension)}${pc.dim(` could not be checked by ${settledBy}`)}`
    return `  ${passed ? pc.green('✓') : pc.red('✗')} ${printable(dimension)}${reached}${pc.dim(` by ${settledBy}`)}`
  })

const MARKS = { blocking: pc.red('blocking'), warning: pc.yellow('warning'), advisory: pc.dim('advisory') } as const

function findingLines(finding: Verification['findings'][number]): string[] {
  const { finding_id, dimension, classification, description, evidence, recommendation, source } = finding
  const more = (name: string, text: string) => `    ${pc.dim(name.padEnd(8))} ${printable(text)}`
  return [
    `  ${MARKS[classification]} ${printable(`${finding_id} ${dimension}: ${description}`)}`,
    ...evidence.map(({ evidence_type, ref, detail }) => more('evidence', `${ref}: ${detail} (${evidence_type})`)),
    ...(recommendation === undefined ? [] : [more('do', recommendation)]),
    more('by', source),
  ]
}

/** Who judged and how, for whoever looks into one attempt. */
export function judgedLines(one: Verification): string[] {
  const { votes, faults, evidence, quorum, person, cost, confidence, role, context = [], contextHash } = one
  const sure = (share: number | undefined) => (share === undefined ? '' : `, confidence ${share}`)
  return [
    ...evidence.map(({ probeId, dimension, outcome }) => `probe    ${probeId} (${dimension}) ${outcome}`),
    ...context.map(({ ref }) => `source   ${ref}`),
    ...(contextHash === undefined ? [] : [`sources  ${contextHash}`]),
    ...(role === undefined || role === 'verifier' ? [] : [`role     ${role}`]),
    ...votes.map(
      vote =>
        `vote     ${vote.agentId} ${vote.verdict}${sure(vote.confidence)}${vote.model === undefined ? '' : `, ${vote.model}`}, run ${vote.childRunId}`,
    ),
    ...faults.map(({ agentId, code }) => `no vote  ${agentId}: ${code}`),
    ...(votes.length + faults.length === 0
      ? []
      : [
          `quorum   ${quorum.passVotes} of ${count(quorum.votes, 'vote')} for it, ${quorum.needed} needed${sure(confidence)}`,
        ]),
    ...(one.peerReceipt === undefined ? [] : [`receipt  ${receiptText(one.peerReceipt)}`]),
    ...(person === undefined ? [] : [`person   ${person.by}${whyText(person.why)}`]),
    ...costLines(cost),
  ].map(line => `  ${printable(line)}`)
}

/** What the peer has signed of its own verification: beside the verdict, never in its place. */
const receiptText = ({
  evidence,
  why,
  keyId,
  attempts = 0,
  passes = 0,
  label,
}: NonNullable<Verification['peerReceipt']>): string =>
  evidence
    ? `of the peer: ${passes} of ${count(attempts, 'attempt')} passed there, ${label}; signed with ${keyId}`
    : `of the peer: no evidence, ${why}`

/** R-DWS-27: what was judged has cost something, too. */
function costLines(cost: Verification['cost']): string[] {
  if (cost === undefined) return []
  const { execution, verification } = cost
  const line = (name: string, spent: typeof verification) =>
    `${name}${count(spent.tokens, 'token')}, ${spent.costUsd === 0 && spent.tokens > 0 ? 'no cost known' : moneySpent(spent)}`
  return [...(execution === undefined ? [] : [line('work     ', execution)]), line('judging  ', verification)]
}

const whyText = (why: unknown): string =>
  why === undefined ? '' : `: ${typeof why === 'string' ? why : JSON.stringify(why)}`
