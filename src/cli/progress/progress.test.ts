import { stripVTControlCharacters } from 'node:util'
import { describe, expect, test } from 'vitest'
import type { RunEventDoc } from '../../client/wire-shapes.js'
import { mayWait } from '../../core/view/status.js'
import { clipLine, runView } from '../terminal/live-view.js'
import { printable, printTable, type Terminal } from '../terminal/terminal.js'
import { advanceProgress, eventLine, frame, noProgress } from './progress.js'

let sequence = 0
const event = (type: string, nodeId?: string, payload: object = {}): RunEventDoc => ({
  eventId: `r:${sequence}`,
  runId: 'r',
  type,
  payload,
  timestamp: new Date(1_767_225_600_000 + sequence * 500).toISOString(),
  sequence: sequence++,
  schemaVersion: 1,
  engineVersion: '1',
  ...(nodeId !== undefined && { nodeId }),
})

const plain = (lines: readonly string[]) => lines.map(stripVTControlCharacters)

const terminal = (isLive: boolean) => {
  const said: string[] = []
  const double: Terminal = {
    out: line => void said.push(line),
    note: line => void said.push(line),
    draw: text => void said.push(text),
    isLive,
    columns: 40,
    readStdin: async () => '',
  }
  return { double, said }
}

describe('progress', () => {
  test('shows each node once, with its state, its retries and why', () => {
    sequence = 0
    const events = [
      event('run.started'),
      event('node.started', 'a'),
      event('node.retried', 'a', { attempt: 1, delayMs: 50, lastError: { code: 'x', message: 'not yet' } }),
      event('node.started', 'a'),
      event('node.completed', 'a'),
      event('node.skipped', 'b', { reason: 'condition' }),
      event('node.started', 'c'),
    ]
    const half = events.reduce(advanceProgress, noProgress('hello r'))
    expect(plain(frame(half, 0))).toEqual(['⠋ hello r running', '  ✓ a ×2  500 ms', '  – b  0 ms  condition', '  ⠋ c'])
    const failed = [
      event('node.failed', 'c', { error: { code: 'boom', message: 'it broke' } }),
      event('run.failed', undefined, { error: { code: 'boom', message: 'it broke' } }),
    ].reduce(advanceProgress, half)
    expect(plain(frame(failed, 0)).at(0)).toBe('✗ hello r failed  4.0 s')
    expect(plain(frame(failed, 0)).at(-1)).toBe('  ✗ c  500 ms  boom: it broke')
    expect(failed.error).toEqual({ code: 'boom', message: 'it broke' })
  })

  test('stays within its rows however many nodes there are', () => {
    const many = Array.from({ length: 500 }, (_, i) => event('node.completed', `n${i}`)).reduce(
      advanceProgress,
      noProgress('t'),
    )
    expect(frame(many, 0, 10)).toHaveLength(12)
    expect(plain(frame(many, 0, 10))[1]).toBe('  … 490 more')
  })

  test('shows who is waited for, and when the run may need someone', () => {
    const events = [
      event('run.started'),
      event('node.started', 'gate'),
      event('node.started', 'other'),
      event('interrupt.requested', 'gate', { kind: 'approval', data: { title: 'Publish?' } }),
      event('node.suspended', 'gate', { kind: 'approval' }),
    ]
    const waiting = events.reduce(advanceProgress, noProgress('t'))
    expect(plain(frame(waiting, 0))).toEqual(['◷ t waiting', '  ◷ gate  approval: Publish?', '  ⠋ other'])
    expect(events.map(mayWait)).toEqual([false, false, false, false, true])
    const vote = event('assay.interrupt.voted', 'gate', { voter: 'ada', action: 'accept' })
    expect(plain(frame(advanceProgress(waiting, vote), 0))[1]).toBe('  ◷ gate  ada accept')
    const resumed = advanceProgress(waiting, event('node.resumed', 'gate'))
    expect(plain(frame(resumed, 0))).toEqual(['⠋ t running', '  ⠋ gate', '  ⠋ other'])
  })

  test('a child that waits makes its parent wait', () => {
    const child = event('assay.child.status', 'sub', { childRunId: 'c', status: 'waiting-approval' })
    const waiting = [event('run.started'), event('node.started', 'sub'), child].reduce(advanceProgress, noProgress('t'))
    expect(mayWait(child)).toBe(true)
    expect(plain(frame(waiting, 0))).toEqual(['◷ t waiting', '  ◷ sub  child run c waiting-approval'])
    const again = event('assay.child.status', 'sub', { childRunId: 'c', status: 'running' })
    expect(mayWait(again)).toBe(false)
  })

  test('one event is one line, and its content cannot steer the terminal', () => {
    sequence = 7
    const line = eventLine(event('variable.changed', 'a', { name: 'x', next: 'two\nlines' }))
    expect(line).toBe('2026-01-01T00:00:03.500Z    7 variable.changed a  x = "two\\nlines"')
    expect(eventLine(event('node.skipped', 'a', { reason: '\u001b[2Jgone' }))).toContain('\\x1b[2Jgone')
    expect(printable('a\u009bb\r\n')).toBe('a\\x9bb\\x0d\\x0a')
  })
})

describe('the loop of an orchestrator', () => {
  const decided = (iteration: number, decision: object) =>
    event('runOrchestrator.decided', 'sup', { agentId: 'core.chief', iteration, decision })
  const step = (cause: RunEventDoc, phase: string, workerId: string, more: object = {}): RunEventDoc => ({
    ...event('core.workflowChain.event', 'hand', { phase, workerId, parentRunId: 'r', ...more }),
    causationId: cause.eventId,
  })
  const shown = (events: readonly RunEventDoc[], rows?: number) =>
    plain(frame(events.reduce(advanceProgress, noProgress('t')), 0, rows)).slice(1)

  test('R-HANDOFF-3: has one line per decision, and one per hand-off that grows step by step', () => {
    const turn = decided(1, { kind: 'next-worker', nextWorkerIds: ['writer', 'critic'], confidence: 0.9 })
    const began = ['writer', 'critic'].map(worker => step(turn, 'dispatch.began', worker)) as [RunEventDoc, RunEventDoc]
    const started = began.map((cause, i) =>
      step(cause, 'dispatch.succeeded', i === 0 ? 'writer' : 'critic', { childRunId: `c-${i}` }),
    ) as [RunEventDoc, RunEventDoc]
    const half = [turn, ...began, ...started]
    expect(shown(half)).toEqual([
      '  ◆ turn 1: next-worker writer, critic (confidence 0.9)',
      '  ⠋ writer began → started  run c-0',
      '  ⠋ critic began → started  run c-1',
    ])
    const error = { code: 'boom', message: 'it broke' }
    const failed = step(started[1], 'child.failed', 'critic', { childRunId: 'c-1', error })
    const completed = step(started[0], 'child.completed', 'writer', { childRunId: 'c-0' })
    const harvested = step(completed, 'output.harvested', 'writer', { harvestedKeys: ['draft', 'title'] })
    expect(shown([...half, failed, completed, harvested]).slice(1)).toEqual([
      '  ✓ writer began → started → completed → harvested draft, title  run c-0',
      '  ✗ critic began → started → failed: boom: it broke  run c-1',
    ])
  })

  test('a worker that did not start, one that was cancelled, and one that was started again in a fork', () => {
    const turn = decided(1, { kind: 'next-worker', nextWorkerIds: ['a', 'b'] })
    const [a, b] = [step(turn, 'dispatch.began', 'a'), step(turn, 'dispatch.began', 'b')]
    const refused = step(a, 'dispatch.failed', 'a', { error: { code: 'unknown_child_workflow', message: 'no a' } })
    const first = step(b, 'dispatch.succeeded', 'b', { childRunId: 'c-1' })
    const again = step(b, 'dispatch.succeeded', 'b', { childRunId: 'c-2' })
    const cancelled = step(again, 'child.cancelled', 'b', { error: { code: 'child_cancelled', message: 'enough' } })
    expect(shown([turn, a, b, refused, first, again, cancelled]).slice(1)).toEqual([
      '  ✗ a began → did not start: unknown_child_workflow: no a',
      '  ⊘ b began → started → started → cancelled: child_cancelled: enough  run c-2',
    ])
  })

  test('R-CONF-4, R-STATE-3: a doubt and a breach have their lines', () => {
    const turn = decided(2, { kind: 'terminate', reason: 'goal-reached', confidence: 0.3 })
    const doubt = event('core.workflowChain.confidence-escalated', 'sup', { confidence: 0.3, floor: 0.5 })
    const breach = event('cap.breached', 'sup', { kind: 'loop-iterations', limit: 2, observed: 3 })
    expect(shown([turn, doubt, breach])).toEqual([
      '  ◆ turn 2: terminate goal-reached (confidence 0.3)',
      '  ! confidence 0.3 is below 0.5: a person decides first',
      '  ✗ loop-iterations: 3 is over the limit of 2',
    ])
  })

  test('R-MEM-20: what is written for later has its line, with names alone, and so has what was read in a list of events', () => {
    sequence = 0
    const by = { nodeId: 'a', agentId: 'local.ann' }
    const events = [
      event('run.started'),
      event('node.started', 'a'),
      event('agent.toolCalled', 'a', { agentId: 'local.ann', toolName: 'assay:memory.put', callId: 'c' }),
      event('agent.toolReturned', 'a', {
        agentId: 'local.ann',
        toolName: 'assay:memory.put',
        callId: 'c',
        status: 'ok',
      }),
      event('memory.written', 'a', { memoryRef: 'people', memoryId: 'ann', ...by }),
      event('assay.journal.read', 'a', { space: 'memory', entries: 1, ...by }),
      event('assay.journal.read', 'a', { space: 'workspace', entries: 2, ...by }),
      event('assay.memory.forgotten', 'a', { memoryRef: 'people', memoryId: 'bob', ...by }),
      event('assay.file.written', 'a', { path: 'a/b.md', nodeId: 'a' }),
      event('assay.file.removed', 'a', { path: 'c.md', nodeId: 'a' }),
    ]
    const shown = events.reduce(advanceProgress, noProgress('t'))
    const [, , ...lines] = plain(frame(shown, 0))
    expect(lines).toEqual([
      '  ✓ local.ann: assay:memory.put → ok',
      '  ✓ local.ann: remembered ann under people',
      '  ✓ local.ann: forgot bob under people',
      '  ✓ a: wrote file a/b.md',
      '  ✓ a: removed file c.md',
    ])
    const said = events.slice(4).map(told => eventLine(told).replace(/^\S+ +\d+ /, ''))
    expect(said).toEqual([
      'memory.written a  local.ann: remembered ann under people',
      'assay.journal.read a  local.ann: recalled 1 entry',
      'assay.journal.read a  local.ann: looked at 2 files',
      'assay.memory.forgotten a  local.ann: forgot bob under people',
      'assay.file.written a  a: wrote file a/b.md',
      'assay.file.removed a  a: removed file c.md',
    ])
  })

  test('stays within its rows however long it goes on, and cannot steer the terminal', () => {
    const turns = Array.from({ length: 5_000 }, (_, i) => decided(i + 1, { kind: 'clarify', prompt: 'who?\u001b[2J' }))
    const lines = shown(turns, 10)
    expect(lines).toHaveLength(6)
    expect(lines[0]).toBe('  … 4995 before')
    expect(lines.at(-1)).toBe('  ◆ turn 5000: clarify who?\\x1b[2J')
  })

  test.each<[string, object, string]>([
    [
      'runOrchestrator.decided',
      { iteration: 1, decision: { kind: 'ask-user', prompt: 'Which?' } },
      'turn 1: ask-user Which?',
    ],
    ['core.workflowChain.event', { phase: 'dispatch.began', workerId: 'w' }, 'w began'],
    ['core.workflowChain.event', { phase: 'dispatch.succeeded', workerId: 'w', childRunId: 'c' }, 'w started as run c'],
    [
      'core.workflowChain.event',
      { phase: 'output.harvested', workerId: 'w', harvestedKeys: [] },
      'w harvested nothing',
    ],
    ['agent.handoff', { fromAgentId: 'a-1', toAgentId: 'b-1', reason: 'dispatch' }, 'a-1 → b-1'],
    ['agent.decided', { agentId: 'a-1', decision: { go: 1 }, confidence: 0.5 }, 'a-1: {"go":1} (confidence 0.5)'],
    ['agent.toolReturned', { agentId: 'a-1', toolName: 'look', status: 'error', error: {} }, 'a-1: look error'],
  ])('%s %j is one plain line', (type, payload, text) => {
    expect(eventLine(event(type, 'n', payload)).split(' n  ')[1]).toBe(text)
  })
})

describe('an agent at work', () => {
  const shown = (events: readonly RunEventDoc[]) =>
    plain(frame(events.reduce(advanceProgress, noProgress('t')), 0))
      .slice(1)
      .filter(line => !line.startsWith('  ⠋ n '))
  const asked = event('assay.model.requested', 'n', { call: 1, attempt: 1, reservedTokens: 900 })
  const usage = event('provider.usage', 'n', {
    provider: 'openai',
    model: 'm',
    inputTokens: 10,
    outputTokens: 5,
    costEstimateUsd: 0.00001,
  })
  const call = { agentId: 'a', toolName: 'look', toolId: 'mcp:x.look', callId: 'c-1' }

  test('R-LIVE-17: has a line per model call, tool call and decision, which tell nothing of what was said', () => {
    expect(shown([asked])).toEqual(['  ⠋ n: model call 1'])
    const called = event('agent.toolCalled', 'n', { ...call, argsHash: 'f00' })
    expect(shown([asked, usage, called])).toEqual([
      '  ✓ n: model call 1 → openai:m 10 in, 5 out, $0.00001',
      '  ⠋ a: look',
    ])
    const returned = event('agent.toolReturned', 'n', { ...call, status: 'forbidden' })
    const decided = event('agent.decided', 'n', { agentId: 'a', decision: { kind: 'answer' }, confidence: 0.9 })
    expect(shown([asked, usage, called, returned, decided]).slice(1)).toEqual([
      '  ✗ a: look → forbidden',
      '  ◆ a: {"kind":"answer"} (confidence 0.9)',
    ])
  })

  test('a call that was lost, or that nothing came of, does not stay open', () => {
    const lost = event('assay.model.lost', 'n', { call: 1, attempt: 1, heldTokens: 900 })
    const over = event('agent.invocation.completed', 'n', { agentId: 'a', outcome: 'failed' })
    expect(shown([asked, lost])).toEqual(['  ✗ n: model call 1 → lost'])
    expect(shown([asked, over])).toEqual(['  ✗ n: model call 1 → failed'])
    expect(shown([asked, usage, over])).toEqual(['  ✓ n: model call 1 → openai:m 10 in, 5 out, $0.00001'])
  })

  test.each<[string, object, string]>([
    [
      'agent.invocation.started',
      { agentId: 'a', resolvedProvider: 'openai', resolvedModel: 'm', toolSurfaceCount: 1 },
      'a with openai:m, 1 tool',
    ],
    // R-LIVE-4: a host may resolve the model later.
    ['agent.invocation.started', { agentId: 'a' }, 'a'],
    ['agent.invocation.completed', { agentId: 'a', outcome: 'refused' }, 'a refused'],
    ['agent.promptResolved', { kind: 'system', resolved: null }, 'system prompt: none'],
    [
      'prompt.composed',
      { kind: 'system+user', hash: `sha256:${'ab'.repeat(32)}` },
      'system+user prompt, sha256:abababab…',
    ],
    ['assay.model.requested', { call: 2, attempt: 3, reservedTokens: 7 }, 'model call 2, try 3: 7 tokens set aside'],
    ['assay.model.lost', { call: 2, chargedTokens: 7 }, 'model call 2 was lost with its host; 7 tokens are counted'],
    [
      'assay.model.lost',
      { call: 2, heldTokens: 7 },
      'model call 2 has no answer; what it cost is unknown, 7 tokens are held',
    ],
    [
      'provider.usage',
      { provider: 'o', model: 'm', inputTokens: 1, outputTokens: 2, cacheHit: true },
      'o:m 1 in, 2 out, answered before',
    ],
    ['agent.toolReturned', { agentId: 'a', toolName: 'look', status: 'ok', durationMs: 4 }, 'a: look ok in 4 ms'],
    [
      'envelope.retry.attempted',
      { attempt: 2, reason: 'schema-violation' },
      'asked again, attempt 2: schema-violation',
    ],
    ['envelope.retry.exhausted', { totalAttempts: 3, finalReason: 'x' }, 'given up after 3 attempts: x'],
    ['envelope.refusal', { provider: 'o', model: 'm', refusalText: null }, 'o:m refused'],
    ['envelope.truncated', { stopReason: 'length', outputTokenCount: 9 }, 'cut off after 9 tokens: length'],
    ['envelope.recovery.applied', { path: 'jsonrepair' }, 'the answer was mended: jsonrepair'],
    [
      'budget.reserved',
      { effectiveBudget: { maxTokens: 9, maxCostUsd: 0.5, maxRetries: 1 } },
      'at most 9 tokens, $0.5, 1 retry',
    ],
    ['budget.consumed', { dimension: 'tokens', consumed: 5, limit: 9 }, 'tokens: 5 of 9'],
    ['budget.threshold.crossed', { dimension: 'tokens', percent: 80, limit: 9 }, 'tokens: 80% of 9 are used'],
    ['budget.exhausted', { dimension: 'cost', consumed: 2, limit: 1 }, 'cost: 2 of 1, nothing is left'],
  ])('%s is one plain line', (type, payload, text) => {
    expect(eventLine(event(type, 'n', payload)).split(' n  ')[1]).toBe(text)
  })
})

describe('the view of a run', () => {
  test('is plain lines without a screen, and silent when asked', () => {
    const { double, said } = terminal(false)
    const view = runView(double, 't', false)
    view.show(event('run.completed', undefined, { outputs: { a: 1 } }))
    expect(view.end().outputs).toEqual({ a: 1 })
    expect(said).toHaveLength(1)
    expect(said[0]).toContain('run.completed  {"a":1}')
    runView(double, 't', true).show(event('run.started'))
    expect(said).toHaveLength(1)
  })

  test('is redrawn in place on a screen', () => {
    const { double, said } = terminal(true)
    const view = runView(double, 'hello', false)
    view.show(event('run.started'))
    view.show(event('node.completed', 'a'))
    view.end()
    expect(said.at(-1)).toContain('\u001b[J')
    view.end()
    expect(said.at(-1)).toContain('\u001b[2A')
  })

  test('rests while something else is written, and goes on below it', () => {
    const { double, said } = terminal(true)
    const view = runView(double, 'hello', false)
    view.show(event('run.started'))
    view.rest()
    const before = said.length
    view.end()
    expect(said).toHaveLength(before)
    view.show(event('node.completed', 'a'))
    view.end()
    expect(said.at(-1)?.startsWith('\u001b[J')).toBe(true)
  })

  test('lines are cut to the screen, colours kept whole', () => {
    expect(clipLine('\u001b[31mabcdef\u001b[39m', 4)).toBe('\u001b[31mabc\u001b[39m')
  })
})

test('tables line up', () => {
  const { double, said } = terminal(false)
  printTable(
    double,
    ['A', 'BB'],
    [
      ['long', 'x'],
      ['s', 'y'],
    ],
  )
  expect(plain(said)).toEqual(['A     BB', 'long  x', 's     y'])
})
