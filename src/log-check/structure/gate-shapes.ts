import {
  boolean,
  boundedText,
  count,
  filled,
  hash,
  id,
  type Kind,
  name,
  oneOf,
  positive,
  record,
  type Shape,
  sha256,
  share,
} from './shape.js'

/** Payloads about gates and verdicts: ids, keys of the gate's definition and numbers, never free text. */

const KEY = /^[a-z0-9][a-z0-9._-]{0,63}$/
const isKey = (value: unknown): value is string => typeof value === 'string' && KEY.test(value)

const key: Kind = { is: 'a key', holds: isKey }
const keys: Kind = {
  is: 'a list of different keys',
  holds: value => Array.isArray(value) && value.every(isKey) && new Set(value).size === value.length,
}
/** R-VERIFY-6: each is told once. */
const criteria: Kind = {
  is: 'a list of different names',
  holds: value =>
    Array.isArray(value) &&
    value.every(item => typeof item === 'string' && item.length > 0) &&
    new Set(value).size === value.length,
}

const agentId = boundedText('a string of 3 to 256 characters', 3, 256)
const verdict = oneOf('pass', 'conditional_pass', 'fail')
const fault: Kind = {
  is: 'a code',
  holds: value => typeof value === 'string' && /^[a-z0-9_]{1,64}$/.test(value),
}
/** A probe's id with something before it. */
const findingId: Kind = {
  is: 'the id of a finding',
  holds: value => typeof value === 'string' && /^[a-z0-9][a-z0-9._-]{0,127}$/.test(value),
}
const truth: Kind = { is: 'true', holds: value => value === true }

const attempt = { gateId: key, attempt: positive }
const call = { callId: id, toolId: filled }
const judge = { ...attempt, verifier: count, agentId, round: positive }

/** agents §11.1, §23.3 */
export const GATE_SHAPES: { readonly [type: string]: Shape } = {
  'agent.verified': {
    required: { agentId, target: filled, verdict: oneOf('pass', 'fail', 'revise') },
    optional: { criteria, confidence: share, causationHostId: filled },
    assay: ['criteria'],
    closed: true,
  },
  'assay.result.staged': {
    required: { nodeId: id, point: oneOf('node', 'tool', 'run'), targetRef: name },
    closed: true,
  },
  'dws.verification.started': {
    required: {
      ...attempt,
      targetRef: name,
      placement: oneOf('phase_exit', 'workflow_exit', 'checkpoint', 'goal', 'trial'),
      gateVersion: positive,
      gateHash: hash,
      resultHash: sha256,
      blocking: boolean,
      point: oneOf('harvest', 'node', 'tool', 'run', 'goal', 'none'),
      criteria: keys,
      probes: count,
      probesFailed: count,
      verifiers: count,
    },
    optional: { workerId: name, contextHash: sha256 },
    closed: true,
  },
  'assay.verifier.began': { required: judge, closed: true },
  'assay.verifier.started': { required: { ...judge, childRunId: id }, closed: true },
  'assay.verifier.ended': {
    required: { ...judge, vote: oneOf('pass', 'conditional_pass', 'fail', 'none') },
    optional: { childRunId: id, fault },
    closed: true,
  },
  'assay.verification.held': {
    required: { ...attempt, round: positive, votes: count, faults: count, retryInMs: count },
    optional: { proceeds: truth, resultArtifactId: id },
    closed: true,
  },
  'assay.verification.resumed': { required: { ...attempt, round: positive }, closed: true },
  'assay.verification.confirming': {
    required: { ...attempt, round: positive, criteria: keys, verifiers: positive },
    closed: true,
  },
  'dws.verification.finding_issued': {
    required: {
      ...attempt,
      findingId,
      dimension: key,
      classification: oneOf('blocking', 'warning', 'advisory'),
    },
    closed: true,
  },
  'dws.verification.verdict_rendered': {
    required: {
      ...attempt,
      dwsVerdict: verdict,
      quorum: record('the votes', { required: { votes: count, passVotes: count }, closed: true }),
      resultArtifactId: id,
      resultHash: sha256,
    },
    optional: {
      forced: truth,
      proceeds: truth,
      label: oneOf('verified', 'conditional', 'verified in part', 'forced'),
      judged: oneOf('whole', 'part'),
    },
    closed: true,
  },
  'assay.rework.began': {
    required: { ...attempt, point: oneOf('harvest', 'node', 'run'), scope: oneOf('targeted', 'full') },
    optional: { workerId: name },
    closed: true,
  },
  'assay.result.withheld': {
    required: {
      ...attempt,
      workerId: name,
      targetRef: name,
      verdict: oneOf('fail', 'revise'),
      criteriaFailed: count,
      criteria: positive,
    },
    closed: true,
  },
  'assay.tool.delivered': { required: call, closed: true },
  'assay.tool.withheld': {
    required: { ...attempt, ...call, criteriaFailed: count, criteria: positive },
    closed: true,
  },
}

/** Types with the names that other verification hosts use; Assay's own types begin with `assay.`. */
export const DWS_TYPES: readonly string[] = Object.keys(GATE_SHAPES).filter(type => type.startsWith('dws.'))
