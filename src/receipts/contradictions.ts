import type { Subject } from '../audit/statement.js'
import { labelFrom, weakestOf } from './labels.js'
import {
  type ReceiptAttempt,
  type ReceiptGate,
  type ReceiptMerge,
  type ReceiptVerdict,
  type RunReceipt,
  SPENT_FIELDS,
} from './receipt.js'

/**
 * What a receipt says against itself. A signature vouches for who has said it; that what is said hangs together anybody
 * can find out, and a host signs nothing that does not.
 *
 *  C1  Sequences rise, and are within the log.
 *  C2  Every attempt, and so every verdict, is at a gate of the run, and a pass is over the result of its attempt.
 *  C3  Every label follows from what stands beside it.
 *  C4  What was merged has, from every blocking gate that stands there, a pass over exactly that hash, told before the merge,
 *      which is the last that the gate has said of it by then. Nothing is merged twice.
 *  C5  A run that completed has outputs, and behind a blocking gate at its exit it has them by a merge; no other has.
 *  C6  The goal is reached only where nothing stands against it.
 *  C7  Judging costs no more than everything.
 *  C8  What the statement is about are the log, the outputs and what was merged, and nothing else.
 */
export function contradictionsIn(receipt: RunReceipt, subject: readonly Subject[]): string[] {
  return [
    ...outOfOrder(receipt),
    ...atUnknownGates(receipt),
    ...mislabelled(receipt),
    ...receipt.merges.flatMap((merge, k) => unpassed(receipt, merge, receipt.merges.slice(0, k))),
    ...misended(receipt),
    ...overspent(receipt),
    ...aboutOthers(receipt, subject),
  ]
}

/** What the statement is about. Values are named by the SHA-256 of their canonical JSON. */
export function subjectsOf({ log, outputs, merges, run }: RunReceipt): Subject[] {
  const values = new Set(merges.flatMap(({ over, resultHash }) => (over === 'value' ? [resultHash] : [])))
  return [
    { name: `run/${run.runId}/log`, digest: { assayChain: log.head } },
    ...(outputs ? [{ name: `run/${run.runId}/outputs`, digest: digestOf(outputs.hash) }] : []),
    ...[...values].map(hash => ({ name: `run/${run.runId}/merged`, digest: digestOf(hash) })),
  ]
}

const digestOf = (hash: string): Subject['digest'] => ({ sha256: hash.slice('sha256:'.length) })

function outOfOrder({ attempts, merges, log }: RunReceipt): string[] {
  const lists = [attempts, merges, ...attempts.map(attempt => [attempt, ...attempt.verdicts])]
  const isWrong = lists.some(list =>
    list.some(({ sequence }, k) => sequence >= log.events || sequence <= (list[k - 1]?.sequence ?? -1)),
  )
  return isWrong ? ['C1: sequences do not rise, or are beyond the end of the log'] : []
}

function atUnknownGates({ gates, attempts }: RunReceipt): string[] {
  const known = new Set(gates.map(({ gateId }) => gateId))
  const twice = known.size === gates.length ? [] : ['C2: a gate is listed twice']
  const unknown = attempts.filter(({ gateId }) => !known.has(gateId))
  return [
    ...twice,
    ...unknown.map(
      ({ gateId, sequence }) => `C2: attempt ${sequence} is at gate "${gateId}", which the run does not have`,
    ),
  ]
}

function mislabelled({ gates, attempts, merges }: RunReceipt): string[] {
  const verdicts = verdictsIn(attempts)
  const judged = attempts.flatMap(attempt => {
    const gate = gates.find(({ gateId }) => gateId === attempt.gateId)
    const wrong = attempt.verdicts.filter(told => gate !== undefined && told.label !== labelFrom(gate, attempt, told))
    return wrong.map(({ sequence }) => `C3: the label of verdict ${sequence} does not follow from what was judged`)
  })
  const merged = merges.filter(
    ({ passes, label }) =>
      label !== weakestOf(passes.map(({ verdict }) => verdicts.get(verdict)?.told.label ?? 'unverified')),
  )
  return [...judged, ...merged.map(({ sequence }) => `C3: the label of merge ${sequence} is not that of its passes`)]
}

type Judged = { readonly attempt: ReceiptAttempt; readonly told: ReceiptVerdict }

const verdictsIn = (attempts: readonly ReceiptAttempt[]): ReadonlyMap<number, Judged> =>
  new Map(attempts.flatMap(attempt => attempt.verdicts.map(told => [told.sequence, { attempt, told }])))

function unpassed({ gates, attempts }: RunReceipt, merge: ReceiptMerge, earlier: readonly ReceiptMerge[]): string[] {
  const verdicts = verdictsIn(attempts)
  const passed = merge.passes.map(({ gateId, verdict }) => ({ gateId, judged: verdicts.get(verdict) }))
  const lacking = gates
    .filter(gate => standsBefore(gate, merge))
    .filter(({ gateId }) => !passed.some(one => one.gateId === gateId))
    .map(({ gateId }) => `C4: merge ${merge.sequence} has no pass of gate "${gateId}", which stands before it`)
  const unsound = passed
    .filter(({ gateId, judged }) => judged === undefined || !isSound(merge, gateId, judged, [...verdicts.values()]))
    .map(({ gateId }) => `C4: merge ${merge.sequence} has no standing pass of gate "${gateId}" over what was merged`)
  const uses = ({ passes }: ReceiptMerge) => new Set(passes.map(({ verdict }) => verdict))
  const again = earlier.some(other => merge.passes.some(({ verdict }) => uses(other).has(verdict)))
  return [...lacking, ...unsound, ...(again ? [`C4: merge ${merge.sequence} goes by a pass that was used before`] : [])]
}

function isSound(merge: ReceiptMerge, gateId: string, { attempt, told }: Judged, all: readonly Judged[]): boolean {
  const isOver = (one: ReceiptAttempt) =>
    one.gateId === gateId && one.resultHash === merge.resultHash && one.target === merge.target
  const latest = all.findLast(other => isOver(other.attempt) && other.told.sequence < merge.sequence)
  return (
    isOver(attempt) &&
    attempt.over === merge.over &&
    attempt.point === merge.point &&
    told.verdict === 'pass' &&
    told.label !== undefined &&
    latest?.told.sequence === told.sequence
  )
}

/** Whether nothing gets past this gate there without its pass. */
function standsBefore(gate: ReceiptGate, merge: ReceiptMerge): boolean {
  if (!gate.blocking || gate.placement === 'trial') return false
  if (merge.point === 'run') return gate.placement === 'workflow_exit'
  if (gate.placement === 'workflow_exit' || gate.nodeId !== merge.nodeId) return false
  if (merge.point === 'tool') return gate.toolId === merge.toolId
  return gate.toolId === undefined && (gate.workerId === undefined || gate.workerId === merge.workerId)
}

function misended({ run, outputs, goal, gates, merges }: RunReceipt): string[] {
  const isCompleted = run.status === 'completed'
  const hasExit = gates.some(({ blocking, placement }) => blocking && placement === 'workflow_exit')
  const left = merges.filter(({ point }) => point === 'run').length
  return [
    ...(isCompleted === (outputs !== undefined)
      ? []
      : [`C5: the run ${run.status}, with${outputs ? '' : 'out'} outputs`]),
    ...(left === (isCompleted && hasExit ? 1 : 0)
      ? []
      : ['C5: what the run leaves and the gates at its exit do not agree']),
    ...(goal.satisfied === true && (goal.against.length > 0 || !isCompleted)
      ? ['C6: the goal is said to be reached, and something stands against it']
      : []),
  ]
}

const overspent = ({ cost }: RunReceipt): string[] =>
  SPENT_FIELDS.some(field => cost.verification[field] > cost.spent[field])
    ? ['C7: judging is said to have cost more than everything']
    : []

function aboutOthers(receipt: RunReceipt, subject: readonly Subject[]): string[] {
  const named = (subjects: readonly Subject[]) => JSON.stringify(subjects.map(({ name, digest }) => [name, digest]))
  return named(subject) === named(subjectsOf(receipt)) ? [] : ['C8: the statement is about something else']
}
