import { describe, expect, test } from 'vitest'
import { redactPayload, scrubber } from './redact.js'

const MASK = '[REDACTED]'

describe('a text that somebody wrote', () => {
  const scrub = scrubber([])
  test.each([
    'Authorization: Bearer abcdefghijklmnop',
    'ask_0123456789abcdefghijklmnopqrstuvwxyzABCDEFG',
    'sk-proj-0123456789abcdef',
    'ghp_0123456789abcdefghij',
    'AKIAIOSFODNN7EXAMPLE',
    'eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl',
    'api_key=0123456789',
    'password: hunter2222',
    'postgres://user:pass@db.internal/x',
    '-----BEGIN PRIVATE KEY-----\nMIIE\n-----END PRIVATE KEY-----',
  ])('loses what looks like a credential: %s', text => {
    const said = scrub(`it was ${text} there`)
    expect(said).toContain(MASK)
    for (const word of [
      'abcdefghijklmnop',
      '0123456789',
      'IOSFODNN7',
      'c2lnbmF0dXJl',
      'hunter2222',
      'user:pass',
      'MIIE',
    ])
      expect(said).not.toContain(word)
  })

  test('keeps what does not', () => {
    const text = 'node "ask-the-user" failed after 3 attempts; run 019a2b3c-0000-7000-8000-000000000000'
    expect(scrub(text)).toBe(text)
  })

  test('loses what the run was given', () => {
    expect(scrubber([{ a: ['Jane Doe'] }])('cannot parse Jane Doe')).toBe(`cannot parse ${MASK}`)
  })

  test('is not shown at all when there is too much to look for', () => {
    expect(scrubber([Array.from({ length: 501 }, (_, i) => `person ${i}`)])('cannot parse person 7')).toBe(MASK)
  })
})

test('a payload keeps how it went and loses everything else, known or not', () => {
  const payload = {
    nodeId: 'n',
    attempt: 1,
    outputs: { secret: 1 },
    neverSeenBefore: 'x',
    reason: 'told by Bearer abcdefghijkl',
    error: { code: 'c', message: 'sk-0123456789', details: { a: 1 } },
  }
  expect(redactPayload(payload, scrubber([]))).toEqual({
    nodeId: 'n',
    attempt: 1,
    outputs: MASK,
    neverSeenBefore: MASK,
    reason: `told by ${MASK}`,
    error: { code: 'c', message: MASK, details: { [MASK]: MASK } },
  })
})

describe('what agents did', () => {
  const redacted = (payload: object) => redactPayload(payload as never, scrubber([]))

  test('a decision keeps its kind, its workers and its confidence', () => {
    const decision = { kind: 'next-worker', nextWorkerIds: ['writer'], confidence: 0.4 }
    expect(redacted({ agentId: 'core.chief', iteration: 2, decision })).toEqual({
      agentId: 'core.chief',
      iteration: 2,
      decision,
    })
    const escalated = { workerId: 'writer', floor: 0.5, escalationKind: 'escalate', originalDecision: decision }
    expect(redacted(escalated)).toEqual(escalated)
    expect(redacted({ decision: { kind: 'terminate', reason: 'Jane has signed' } })).toEqual({
      decision: { kind: 'terminate', reason: MASK },
    })
  })

  test('what is no decision of an orchestrator is content', () => {
    expect(redacted({ decision: { kind: 'refund', amount: 5 } })).toEqual({ decision: MASK })
    expect(redacted({ decision: 'refund Jane' })).toEqual({ decision: MASK })
  })

  test('a hand-off keeps its steps and loses what was handed over', () => {
    const told = {
      phase: 'output.harvested',
      workerId: 'writer',
      parentRunId: 'r',
      childRunId: 'c',
      harvestedKeys: ['draft'],
    }
    // A checksum of something short can be guessed.
    expect(redacted({ ...told, attestation: { checksum: 'ab', algorithm: 'sha256' } })).toEqual({
      ...told,
      attestation: MASK,
    })
  })

  test('a tool keeps its name and loses what it was told and what it returned', () => {
    const call = { agentId: 'core.chief', toolName: 'search', toolId: 'search', callId: '1' }
    expect(redacted({ ...call, inputs: { q: 'Jane' } })).toEqual({ ...call, inputs: MASK })
    expect(redacted({ ...call, status: 'ok', outcome: { name: 'Jane' }, durationMs: 3 })).toEqual({
      ...call,
      status: 'ok',
      outcome: MASK,
      durationMs: 3,
    })
    expect(redacted({ outcome: 'Jane' })).toEqual({ outcome: MASK })
    expect(redacted({ outcome: 'failed' })).toEqual({ outcome: 'failed' })
  })

  test('an invocation, its calls and its budget are free of content, and stay', () => {
    const plain = [
      {
        invocationId: 'i',
        agentId: 'a',
        source: 'run-api',
        modelClass: 'writing',
        resolvedModel: 'm',
        toolSurfaceCount: 1,
      },
      { invocationId: 'i', agentId: 'a', outcome: 'handed-off', schemaValidated: true },
      { nodeId: 'n', invocationId: 'i', call: 1, attempt: 1, maxOutputTokens: 5, reservedTokens: 9 },
      {
        provider: 'p',
        model: 'm',
        inputTokens: 1,
        outputTokens: 2,
        totalTokens: 3,
        costEstimateUsd: 0.1,
        cacheHit: true,
      },
      { kind: 'system', chain: [{ layer: 'node', applied: true, source: 'prompt:x' }], resolved: 'prompt:x' },
      { refs: ['prompt:x'], kind: 'system-only', hash: 'sha256:ab' },
      { dimension: 'tokens', consumed: 1, limit: 2, remaining: 1, percent: 50 },
      { effectiveBudget: { maxTokens: 5 }, scope: 'run' },
      { nodeId: 'n', provider: 'p', model: 'm', stopReason: 'length', outputTokenCount: 4 },
    ]
    for (const payload of plain) expect(redacted(payload)).toEqual(payload)
  })

  test('hashes of single variables, and what a refusal said, do not', () => {
    // A hash of something short can be guessed.
    expect(redacted({ variableHashes: { name: 'ab' } })).toEqual({ variableHashes: MASK })
    expect(redacted({ refusalText: 'I will not help Jane' })).toEqual({ refusalText: MASK })
    expect(redacted({ composed: 'Write to Jane' })).toEqual({ composed: MASK })
  })

  test('reasoning is content, whole or in pieces', () => {
    const said = { agentId: 'core.chief', verbosity: 'summary' }
    expect(redacted({ ...said, reasoning: 'Jane asked' })).toEqual({ ...said, reasoning: MASK })
    expect(redacted({ ...said, delta: 'Jane', sequence: 0 })).toEqual({ ...said, delta: MASK, sequence: 0 })
  })
})
