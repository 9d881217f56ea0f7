import { PassThrough } from 'node:stream'
import { describe, expect, test } from 'vitest'
import { AssayError } from '../../client/assay-error.js'
import type { AskedInterrupt } from '../../client/wire-shapes.js'
import type { Json } from '../../core/json.js'
import { type AnswerOptions, answerGiven } from '../commands/answer.js'
import { converse } from '../terminal/conversation.js'
import { approvalPrompt, askPerson, readReply } from '../terminal/prompt.js'
import { answerCommands, describeInterrupt, headline, shellWord } from './interrupt-text.js'

const asked = (kind: AskedInterrupt['kind'], nodeId: string, data: AskedInterrupt['data']): AskedInterrupt => ({
  runId: 'r',
  workflowId: 'w',
  nodeId,
  interruptId: 'int-2',
  kind,
  key: `${nodeId}:0`,
  data,
  requestedAt: '2026-01-01T00:00:00.000Z',
  shownHash: 'sha256:shown',
})

const approval = asked('approval', 'gate', {
  title: 'Publish?',
  artifactId: 'gate-0',
  artifactType: 'approval',
  actions: ['accept', 'reject', 'refine'],
  artifactData: { text: 'x'.repeat(90) },
  description: 'two\nlines \u001b[2J',
})

const questions = asked('clarification', 'ask', {
  questions: [
    { id: 'who', question: 'For whom?' },
    { id: 'copies', question: 'How many?', schema: { type: 'integer' } },
  ],
})

const event = asked('external-event', 'paid', { eventType: 'payment', correlation: { orderId: "it's 7" } })

describe('what is shown', () => {
  test('is everything, and cannot steer the terminal', () => {
    const lines = describeInterrupt({ ...approval, expiresAt: '2026-01-01T02:30:00.000Z' }, Date.UTC(2026, 0, 1, 0, 10))
    expect(lines).toContain('asked      2026-01-01T00:00:00.000Z, 10 min ago')
    expect(lines).toContain('expires    2026-01-01T02:30:00.000Z, in 2 h')
    expect(lines).toContain('  actions: ["accept","reject","refine"]')
    expect(lines).toContain(`      "text": "${'x'.repeat(90)}"`)
    expect(lines).toContain('    lines \\x1b[2J')
    expect(lines.at(-1)).toBe("  assay interrupts resolve r gate --refine 'what to change'")
  })

  test('has the votes of a quorum and the schema of an answer', () => {
    const lines = describeInterrupt(
      {
        ...approval,
        requiredApprovals: 2,
        votes: [{ voter: 'ada', action: 'accept' }],
        resumeSchema: { type: 'object' },
        expiresAt: '2026-01-01T00:00:00.000Z',
      },
      Date.UTC(2026, 0, 1, 0, 0, 1),
    )
    expect(lines).toContain('votes      ada accept; 2 must accept')
    expect(lines).toContain('expires    2026-01-01T00:00:00.000Z, over')
    expect(lines).toContain('  the answer must fit: {"type":"object"}')
  })

  test('is one line in a list', () => {
    expect([approval, questions, event].map(({ kind, data }) => headline(kind, data))).toEqual([
      'Publish?',
      'For whom? (and 1 more)',
      'the event payment',
    ])
    expect(headline('low-confidence', { agentId: 'critic', threshold: 0.8, observed: 0.5 })).toBe(
      'critic is sure to 0.5; 0.8 is needed',
    )
    expect(headline('custom', { customKind: 'x' })).toBe('x')
  })

  test('comes with commands a shell can read', () => {
    expect(answerCommands(questions)).toEqual(['assay interrupts resolve r ask --answer who=… --answer copies=…'])
    expect(answerCommands(event)).toEqual([`assay interrupts resolve r paid --value '{"orderId":"it'\\''s 7"}'`])
    expect(shellWord('a b')).toBe("'a b'")
  })

  test('R-BUDGET-4: a run that has used up its budget is told with the least that helps', () => {
    const data = { artifactType: 'budget', title: 't', setting: 'maxTokens', leastDelta: 104 }
    expect(answerCommands(asked('approval', 'a', { ...data, actions: ['accept', 'reject'] }))).toEqual([
      'assay interrupts resolve r a --accept --add maxTokens=104',
      "assay interrupts resolve r a --reject --feedback 'why'",
    ])
  })

  test('R-CONF-10, R-LOWC-1: a decision in doubt is let pass, sent back or changed, whatever the question is called', () => {
    const held = asked('low-confidence', 'sup', { agentId: 'core.chief', threshold: 0.7, observed: 0.3 })
    const payload = { decision: { kind: 'terminate' }, confidence: 0.3, floor: 0.5 }
    const vendor = asked('custom', 'sup', { customKind: 'x-host-acme-review', payload })
    for (const doubted of [held, vendor])
      expect(answerCommands(doubted)).toEqual([
        `assay interrupts resolve r sup --value '{"action":"accept"}'`,
        `assay interrupts resolve r sup --value '{"action":"reject"}'`,
        `assay interrupts resolve r sup --value '{"action":"edit-accept","editedArtifactData":{…}}'`,
      ])
    const other = asked('custom', 'n', { customKind: 'x-host-acme-form', payload: null })
    expect(answerCommands(other)).toEqual([`assay interrupts resolve r n --value '{}'`])
  })
})

describe('an answer said by options', () => {
  const read = (interrupt: Parameters<typeof answerGiven>[0], options: Partial<AnswerOptions>, stdin = '') =>
    answerGiven(interrupt, { answer: [], add: [], ...options }, async () => stdin)

  test.each<[Partial<AnswerOptions>, object]>([
    [{ accept: true }, { action: 'accept' }],
    [
      { accept: true, add: ['maxTokens=104', 'maxCostUsd=0.5'] },
      { action: 'accept', budgetDelta: { maxTokens: 104, maxCostUsd: 0.5 } },
    ],
    [
      { reject: true, feedback: 'no' },
      { action: 'reject', feedback: 'no' },
    ],
    [{ refine: 'shorter' }, { action: 'refine', refineFeedback: { scope: 'whole', text: 'shorter' } }],
    [{ edit: '{"a":1}' }, { action: 'edit-accept', editedArtifactData: { a: 1 } }],
    [{ value: '{"action":"ask"}' }, { action: 'ask' }],
    [
      { accept: true, shown: 'sha256:1' },
      { action: 'accept', shownHash: 'sha256:1' },
    ],
  ])('an approval is answered by %j', async (options, value) => {
    expect(await read(approval, options)).toEqual(value)
  })

  test.each<[Partial<AnswerOptions>]>([
    [{ accept: true, add: ['maxTokens'] }],
    [{ accept: true, add: ['maxTokens=many'] }],
    [{ accept: true, add: ['maxRounds=1'] }],
    [{ reject: true, add: ['maxTokens=1'] }],
    [{ value: '{}', add: ['maxTokens=1'] }],
  ])('R-BUDGET-4: what is added must be said so that it is understood: %j', async options => {
    await expect(read(approval, options)).rejects.toThrow(/--add|--value/)
  })

  test('answers are text, unless the schema of their question wants something else', async () => {
    expect(await read(questions, { answer: ['who=5', 'copies=3'] })).toEqual({ answers: { who: '5', copies: 3 } })
    expect(await read(questions, { answer: ['who=a=b', 'copies=many'] })).toEqual({
      answers: { who: 'a=b', copies: 'many' },
    })
  })

  test('a value may come from stdin', async () => {
    expect(await read(event, { value: '-' }, '{"orderId": 7}')).toEqual({ orderId: 7 })
  })

  test.each<[Partial<AnswerOptions>, RegExp]>([
    [{}, /say one answer, such as assay interrupts resolve r gate --accept/],
    [{ accept: true, reject: true }, /say one answer/],
    [{ answer: ['who=me'] }, /answers a clarification, but gate waits for approval/],
    [{ edit: 'text' }, /--edit is not JSON/],
    [{ edit: '@/nowhere.json' }, /--edit @\/nowhere\.json: no such file/],
    [{ value: '1', feedback: 'x' }, /--value is the whole answer/],
  ])('%j does not answer an approval', async (options, message) => {
    await expect(read(approval, options)).rejects.toThrow(message)
  })

  test.each<[Partial<AnswerOptions>, RegExp]>([
    [{ accept: true }, /answers an approval, but ask waits for clarification; use .* --answer who=… --answer copies=…/],
    [{ answer: ['who=me'] }, /not answered: copies/],
    [{ answer: ['who=me', 'when=now'] }, /"when" was not asked; the questions are who, copies/],
    [{ answer: ['nonsense'] }, /use question=answer/],
    [{ answer: ['who=me', 'copies=1'], feedback: 'x' }, /--feedback is for approvals/],
  ])('%j does not answer questions', async (options, message) => {
    await expect(read(questions, options)).rejects.toThrow(message)
  })
})

describe('a person at a terminal', () => {
  /** Types the lines, then leaves; the server takes the first answer for which it has no refusal left. */
  const talk = async (interrupt: AskedInterrupt, typed: string, refusals: AssayError[] = []) => {
    const [input, output] = [new PassThrough(), new PassThrough()]
    const said: string[] = []
    const sent: Json[] = []
    input.end(typed)
    const outcome = await askPerson(interrupt, {
      conversation: converse(input, output),
      say: line => void said.push(line),
      send: async value => {
        sent.push(value)
        const refusal = refusals.shift()
        if (refusal !== undefined) throw refusal
      },
      explain: error => [error.message],
    })
    return { outcome, said, sent, shown: String(output.read() ?? '') }
  }

  test('sees only the actions that are offered', () => {
    expect(approvalPrompt(approval)).toBe('Approve "Publish?"? [a]ccept / [r]eject / re[f]ine / [s]how / [l]ater ')
    const plain = { ...approval, data: { ...approval.data, actions: ['accept', 'reject', 'edit-accept'] } }
    expect(approvalPrompt(plain)).toBe('Approve "Publish?"? [a]ccept / [r]eject / [s]how / [l]ater ')
    expect(readReply('f shorter', ['accept'])).toEqual({ is: 'unclear' })
  })

  test.each([
    ['a', { is: 'answer', value: { action: 'accept' } }],
    [' Accept  looks  fine ', { is: 'answer', value: { action: 'accept', feedback: 'looks  fine' } }],
    ['r too long', { is: 'answer', value: { action: 'reject', feedback: 'too long' } }],
    [
      'refine shorter',
      { is: 'answer', value: { action: 'refine', refineFeedback: { scope: 'whole', text: 'shorter' } } },
    ],
    ['f', { is: 'refine-how' }],
    ['s', { is: 'show' }],
    ['LATER', { is: 'later' }],
    ['', { is: 'unclear' }],
    ['yes', { is: 'unclear' }],
  ])('says %j', (line, reply) => {
    expect(readReply(line, ['accept', 'reject', 'refine'])).toEqual(reply)
  })

  test('is asked until it is clear, and answers what was shown', async () => {
    const { outcome, said, sent, shown } = await talk(approval, 'what\ns\na fine\n')
    expect(outcome).toBe('answered')
    expect(sent).toEqual([{ action: 'accept', feedback: 'fine', shownHash: 'sha256:shown' }])
    expect(said).toContain('Publish?')
    expect(shown.match(/Approve/g)).toHaveLength(3)
  })

  test('is asked what to change', async () => {
    const { sent } = await talk(approval, 'f\nshorter\n')
    expect(sent).toEqual([
      { action: 'refine', refineFeedback: { scope: 'whole', text: 'shorter' }, shownHash: 'sha256:shown' },
    ])
  })

  test('answers each question, and again when the answers are refused', async () => {
    const refused = new AssayError(400, 'validation_error', 'copies must be integer')
    const { outcome, said, sent } = await talk(questions, 'Ada\nmany\n\nAda\n3\n', [refused])
    expect(outcome).toBe('answered')
    expect(sent).toEqual([
      { answers: { who: 'Ada', copies: 'many' }, shownHash: 'sha256:shown' },
      { answers: { who: 'Ada', copies: 3 }, shownHash: 'sha256:shown' },
    ])
    expect(said).toEqual(['copies must be integer', 'type an answer; Ctrl-D leaves it for later'])
  })

  test.each(['l\n', '', 'f\n'])('leaves it for later with %j', async typed => {
    const { outcome, sent } = await talk(approval, typed)
    expect({ outcome, sent }).toEqual({ outcome: 'later', sent: [] })
  })

  test('is not asked again when nothing waits any more', async () => {
    const over = new AssayError(409, 'interrupt_already_resolved', 'somebody was faster')
    const { outcome, said } = await talk(approval, 'a\na\n', [over])
    expect({ outcome, said }).toEqual({ outcome: 'over', said: ['somebody was faster'] })
  })

  test('is told how to answer what a prompt cannot', async () => {
    const { outcome, said } = await talk(event, '')
    expect(outcome).toBe('later')
    expect(said.at(-1)).toMatch(/^answer with: assay interrupts resolve r paid --value/)
  })
})
