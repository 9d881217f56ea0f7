import { type Static, Type } from 'typebox'
import { STATEMENT_KINDS } from '../audit/statement.js'
import { patternOf } from '../core/names.js'
import { Closed, ListOf, May, NumberFrom, OneOf, Whole } from '../core/schema/kinds.js'
import { RESULT_LABELS } from '../core/verification/label.js'

/**
 * What a receipt says of a run that has ended, and nothing else: names, hashes, words of a list, numbers. What each field is
 * true of is in docs/design/receipt.md. There is no field that text of a run could get into: names are one line, and a host
 * signs nothing that this schema does not take.
 */

export const RECEIPT_KIND = STATEMENT_KINDS.runReceipt

/** Of the whole text; a run with more gated work than fits has no receipt. */
export const MAX_RECEIPT_BYTES = 4 * 1024 * 1024

const MOST = 10_000

const Name = Type.String({ pattern: '^[^\\u0000-\\u001f\\u007f-\\u009f\\u2028\\u2029]{1,512}$' })
const RunId = Type.String({ pattern: patternOf('runId') })
const GateId = Type.String({ pattern: patternOf('gateId') })
const Key = Type.String({ pattern: '^[a-z0-9][a-z0-9._-]{0,63}$' })
const Hash = Type.String({ pattern: '^sha256:[0-9a-f]{64}$' })
const Code = Type.String({ pattern: '^[a-z][a-z0-9_-]{0,63}$' })
const At = Type.String({ pattern: '^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\\.[0-9]{3}Z$' })
const Count = Whole(0)
const Amount = NumberFrom(0, Number.MAX_SAFE_INTEGER)

export const POINTS = ['harvest', 'node', 'tool', 'run', 'goal', 'none'] as const
export const SPENT_FIELDS = ['tokens', 'costUsd', 'toolCalls', 'retries'] as const

const Spent = Closed({ tokens: Count, costUsd: Amount, toolCalls: Count, retries: Count })

const Issuer = Closed({ hostId: Type.String({ pattern: patternOf('hostId') }), assay: Name, issuedAt: At })

const Run = Closed({
  runId: RunId,
  tenant: Name,
  workflowId: Name,
  workflowDigest: Name,
  engineVersion: Name,
  startedAt: At,
  endedAt: At,
  status: OneOf(['completed', 'failed', 'cancelled']),
  errorCode: May(Code),
  parentRunId: May(RunId),
  gatedBy: May(ListOf(GateId, 1, MOST)),
  fork: May(Closed({ runId: RunId, fromSeq: Count, mode: OneOf(['replay', 'branch']), diverged: Type.Boolean() })),
})

const Log = Closed({
  events: Whole(1),
  head: Type.String({ pattern: '^(2\\.)?[A-Za-z0-9_-]{43}$|^$' }),
  unchained: Count,
})

const Outputs = Closed({ hash: Hash, withheld: Type.Boolean() })

const Goal = Closed({
  satisfied: May(Type.Boolean()),
  against: ListOf(
    Closed({
      what: OneOf(['fail', 'revise', 'forced', 'part', 'gave-up']),
      nodeId: Name,
      workerId: May(Name),
      gateId: May(GateId),
    }),
    0,
    MOST,
  ),
})

const GateTold = Closed({
  gateId: GateId,
  version: Whole(0),
  hash: Name,
  blocking: Type.Boolean(),
  placement: OneOf(['phase_exit', 'workflow_exit', 'checkpoint', 'goal', 'trial']),
  nodeId: Name,
  workerId: May(Name),
  toolId: May(Name),
  criteria: ListOf(Key, 0, MOST),
})

const VoteTold = Closed({
  agentId: Name,
  round: Count,
  vote: OneOf(['pass', 'conditional_pass', 'fail', 'none']),
  fault: May(Code),
  runId: May(RunId),
  model: May(Name),
})

const VerdictTold = Closed({
  sequence: Count,
  at: At,
  agentId: Name,
  verdict: OneOf(['pass', 'fail', 'revise']),
  criteria: ListOf(Name, 0, MOST),
  label: May(OneOf(RESULT_LABELS)),
  confidence: May(NumberFrom(0, 1)),
  person: May(Name),
})

const AttemptTold = Closed({
  sequence: Count,
  at: At,
  gateId: GateId,
  attempt: Whole(1),
  nodeId: Name,
  workerId: May(Name),
  point: OneOf(POINTS),
  target: Name,
  resultHash: Hash,
  over: OneOf(['value', 'name']),
  contextHash: May(Hash),
  probes: Count,
  probesFailed: Count,
  votes: ListOf(VoteTold, 0, MOST),
  judgement: May(Closed({ verdict: OneOf(['pass', 'conditional_pass', 'fail']), votes: Count, passVotes: Count })),
  verdicts: ListOf(VerdictTold, 0, MOST),
})

const MergeTold = Closed({
  sequence: Count,
  at: At,
  point: OneOf(['harvest', 'node', 'tool', 'run']),
  nodeId: May(Name),
  workerId: May(Name),
  toolId: May(Name),
  target: Name,
  resultHash: Hash,
  over: OneOf(['value', 'name']),
  passes: ListOf(Closed({ gateId: GateId, verdict: Count }), 1, MOST),
  label: OneOf(RESULT_LABELS),
})

const Bounds = Closed({
  maxTokens: May(Amount),
  maxCostUsd: May(Amount),
  maxToolCalls: May(Amount),
  maxRetries: May(Amount),
  maxLoopIterations: May(Count),
  turns: Count,
  reworks: Count,
  breached: ListOf(
    Closed({
      kind: OneOf([
        'node-executions',
        'run-duration',
        'loop-iterations',
        ...(['tokens', 'cost', 'tool-calls', 'retries'] as const).map(name => `budget-${name}` as const),
      ]),
      limit: Amount,
      observed: Amount,
    }),
    0,
    MOST,
  ),
})

const Cost = Closed({ spent: Spent, verification: Spent, unknown: Spent })

export const RunReceipt = Closed({
  issuer: Issuer,
  run: Run,
  log: Log,
  outputs: May(Outputs),
  goal: Goal,
  gates: ListOf(GateTold, 0, MOST),
  attempts: ListOf(AttemptTold, 0, MOST),
  merges: ListOf(MergeTold, 0, MOST),
  ungated: Count,
  bounds: Bounds,
  cost: Cost,
})
export type RunReceipt = Static<typeof RunReceipt>
export type ReceiptAttempt = Static<typeof AttemptTold>
export type ReceiptMerge = Static<typeof MergeTold>
export type ReceiptGate = Static<typeof GateTold>
export type ReceiptVerdict = Static<typeof VerdictTold>
export type ReceiptSpent = Static<typeof Spent>
