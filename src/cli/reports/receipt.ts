import type { RunReceipt } from '../../receipts/receipt.js'
import type { FoundOutput } from '../../receipts/verify-receipt.js'
import { moneySpent } from '../progress/agent-text.js'

/** A receipt that was verified, as somebody reads it who was handed it. */

type Shown = { readonly receipt: RunReceipt; readonly keyId: string; readonly found?: FoundOutput }

export const receiptShown = ({ receipt, keyId, found }: Shown) => ({
  ok: true as const,
  keyId,
  ...(found && { found }),
  receipt,
})

export function receiptLines({ receipt, keyId, found }: Shown): string[] {
  const { issuer, run, log, goal, attempts, merges, cost } = receipt
  return [
    `run        ${run.runId} of workflow ${run.workflowId}, tenant ${run.tenant}`,
    `host       ${issuer.hostId}, key ${keyId}, at ${issuer.issuedAt}`,
    `status     ${run.status}${run.errorCode === undefined ? '' : ` [${run.errorCode}]`}, ended ${run.endedAt}`,
    ...(run.fork ? [`fork       ${run.fork.mode} of ${run.fork.runId} from event ${run.fork.fromSeq}`] : []),
    `log        ${log.events} events, head ${log.head}`,
    `goal       ${goal.satisfied === undefined ? 'nobody has said' : goal.satisfied ? 'reached' : 'not reached'}`,
    ...merges.map(
      merge =>
        `merged     ${merge.label}: ${merge.resultHash} at ${merge.nodeId ?? 'the exit'}, by ${judgesOf(receipt, merge).join(', ')}`,
    ),
    ...(receipt.ungated > 0
      ? [`unjudged   ${receipt.ungated} results of workers that no blocking gate stands before`]
      : []),
    `judged     ${attempts.length} attempts at ${receipt.gates.length} gates`,
    `cost       ${moneySpent(cost.spent)}, ${cost.spent.tokens} tokens; of it judging ${moneySpent(cost.verification)}`,
    ...(found ? outputLines(found) : []),
  ]
}

/** Whose word each pass is. */
function judgesOf({ attempts }: RunReceipt, { passes }: RunReceipt['merges'][number]): string[] {
  const verdicts = attempts.flatMap(one => one.verdicts.map(verdict => ({ gateId: one.gateId, verdict })))
  return passes.map(({ gateId, verdict: sequence }) => {
    const { agentId, person } = verdicts.find(({ verdict }) => verdict.sequence === sequence)?.verdict ?? {}
    return `gate ${gateId} (${agentId}${person === undefined ? '' : `, ${person}`})`
  })
}

const outputLines = ({ hash, left, merged }: FoundOutput): string[] => [
  ...(left === undefined ? [] : [`output     is what the run left, ${left}: ${hash}`]),
  ...merged.map(({ sequence, label }) => `output     was merged at event ${sequence}, ${label}: ${hash}`),
]
