import { describe, expect, test } from 'vitest'
import { expectTold, type Mistake, slipped } from '../../test/support/mistakes.js'
import type { JsonObject } from '../core/json.js'
import type { StandardKind } from '../engine/ports/standards.js'
import { MemoryStore } from '../store/memory/memory-store.js'
import { ManualClock } from '../testing/manual-clock.js'
import { gateDocument, intentDocument, knowledgeDocument } from '../testing/standards.js'
import { completeStandard } from './complete.js'
import { createStandards } from './standards.js'

/** What whoever starts a host with this file in the project is told. */
async function toldOf(file: string, kind: StandardKind, document: JsonObject): Promise<readonly string[]> {
  const standards = createStandards({
    store: new MemoryStore(),
    clock: new ManualClock(),
    schemas: { inspect: async () => undefined },
    plans: () => ({ named: async () => undefined, known: () => undefined }),
  })
  return standards.share([{ file, kind, document }])
}

const PROBE = 'evaluation_criteria[0].probes[0]'
const GATE = slipped(gateDocument(), {
  'evaluation_criteria[0].probes': [{ type: 'regex', path: '/text', pattern: 'lorem' }],
  multi_verifier: { verifier_count: 3 },
  context: ['inputs.log'],
})

const GATE_MISTAKES: readonly Mistake[] = [
  [
    'American spelling',
    { gate_behavior: {}, gate_behaviour: undefined },
    'gate_behavior',
    '',
    'did you mean gate_behaviour?',
  ],
  [
    'camel case',
    { 'gate_behaviour.maxAttempts': 3 },
    'gate_behaviour.maxAttempts',
    '',
    'did you mean gate_behaviour.max_attempts?',
  ],
  ['a field one level too high', { max_attempts: 3 }, 'max_attempts', '', 'it belongs at gate_behaviour.max_attempts'],
  [
    'a field one level too deep',
    { 'position.intent_refs': ['a'] },
    'position.intent_refs',
    '',
    'it belongs at intent_refs',
  ],
  [
    'a field that there is not',
    { 'position.colour': 'red' },
    'position.colour',
    '',
    'remove it: the known fields are workflow_id, phase_id, placement, worker_id, tool_name',
  ],
  [
    'a number in quotes',
    { 'gate_behaviour.max_attempts': '3' },
    'gate_behaviour.max_attempts',
    '"3"',
    'write 3 without quotes',
  ],
  ['a number that is too large', { 'gate_behaviour.max_attempts': 50 }, 'gate_behaviour.max_attempts', '50', '1 to 20'],
  [
    'a word for a flag',
    { 'gate_behaviour.blocking': 'yes' },
    'gate_behaviour.blocking',
    '"yes"',
    'write true without quotes',
  ],
  [
    'minutes in words',
    { 'verifier_requirements.timeout_ms': '5m' },
    'verifier_requirements.timeout_ms',
    '"5m"',
    'write 300000',
  ],
  ['seconds', { 'gate_behaviour.retry_delay_ms': 0.5 }, 'gate_behaviour.retry_delay_ms', '0.5', 'of milliseconds'],
  ['per cent', { 'gate_behaviour.min_confidence': 80 }, 'gate_behaviour.min_confidence', '80', 'a number from 0 to 1'],
  [
    'another spelling of a word',
    { 'position.placement': 'phase-exit' },
    'position.placement',
    '"phase-exit"',
    'did you mean phase_exit?',
  ],
  [
    'a quorum misspelt',
    { 'multi_verifier.quorum_strategy': 'majorty' },
    'multi_verifier.quorum_strategy',
    '"majorty"',
    'did you mean majority?',
  ],
  [
    'one in place of a list',
    { intent_refs: 'true-reports' },
    'intent_refs',
    '"true-reports"',
    'write ["true-reports"]',
  ],
  ['R-DWS-1: an empty list', { intent_refs: [] }, 'intent_refs', 'a list of 0', 'a list of 1 to 50 items'],
  ['no node', { 'position.phase_id': undefined }, 'position.phase_id', '', 'add it'],
  ['a list in place of an object', { position: [] }, 'position', 'a list of 0', 'an object'],
  ['nothing after the colon', { name: null }, 'name', 'null', 'text that is not blank'],
  ['a number for a name', { name: 7 }, 'name', '7', 'write "7" in quotes'],
  ['the same twice', { intent_refs: ['a', 'b', 'a'] }, 'intent_refs', '"a" twice', 'give each once'],
  [
    'R-DWS-3: a threshold in per cent',
    { 'evaluation_criteria[0].pass_threshold': 80 },
    'evaluation_criteria[0].pass_threshold',
    '80',
    '1 to 5',
  ],
  [
    'a scale upside down',
    { 'evaluation_criteria[0].scale': { min: 5, max: 4, type: 'integer' } },
    'evaluation_criteria[0].scale.min',
    '5',
    'below evaluation_criteria[0].scale.max 4; lower it',
  ],
  ['a scale in words', { 'evaluation_criteria[0].scale': '1-5' }, 'evaluation_criteria[0].scale', '"1-5"', 'an object'],
  [
    'R-DWS-32: a question for a key',
    { 'evaluation_criteria[0].dimension': 'Is it right?' },
    'evaluation_criteria[0].dimension',
    '"Is it right?"',
    'lower-case letters, digits and . _ -',
  ],
  [
    'R-DWS-32: a key of the host',
    { 'evaluation_criteria[0].dimension': 'human-override' },
    'evaluation_criteria[0].dimension',
    '"human-override"',
    'choose another name',
  ],
  ['a probe misspelt', { [`${PROBE}.type`]: 'regexp' }, `${PROBE}.type`, '"regexp"', 'did you mean regex?'],
  [
    'a probe without a type',
    { [`${PROBE}.type`]: undefined },
    `${PROBE}.type`,
    '',
    'one of json-schema, regex, equals',
  ],
  [
    'a field of another probe',
    { [`${PROBE}.status`]: [200] },
    `${PROBE}.status`,
    '',
    'remove it: the known fields are probe_id, type, path, pattern, absent',
  ],
  [
    'a dotted path for a pointer',
    { [`${PROBE}.path`]: 'report.text' },
    `${PROBE}.path`,
    '"report.text"',
    'such as /report/title',
  ],
  ['a look-ahead', { [`${PROBE}.pattern`]: '(?=a)b' }, `${PROBE}.pattern`, '(?=', 'RE2 syntax'],
  [
    'a file above',
    { [PROBE]: { type: 'file', file: '../report.md' } },
    `${PROBE}.file`,
    '"../report.md"',
    'inside the workspace',
  ],
  [
    'a program as one text',
    { [PROBE]: { type: 'command', command: 'make test' } },
    `${PROBE}.command`,
    '"make test"',
    'write ["make test"]',
  ],
  [
    'a status in quotes',
    { [PROBE]: { type: 'http', url: 'https://a.b/', status: ['200'] } },
    `${PROBE}.status[0]`,
    '"200"',
    'write 200 without quotes',
  ],
  ['bounds swapped', { [PROBE]: { type: 'numeric', min: 9, max: 1 } }, `${PROBE}.min`, '9', 'swap them'],
  [
    'a verifier that is no agent',
    { 'verifier_requirements.verifiers': ['critic'], multi_verifier: undefined },
    'verifier_requirements.verifiers[0]',
    '"critic"',
    'the id of an agent',
  ],
  [
    'a verifier by another name',
    { 'verifier_requirements.verifiers': [{ agentid: 'a.b' }], multi_verifier: undefined },
    'verifier_requirements.verifiers[0].agentid',
    '',
    'did you mean verifier_requirements.verifiers[0].agent_id?',
  ],
  [
    'R-DWS-12: a context that is shared',
    { 'verifier_requirements.fresh_context': false },
    'verifier_requirements.fresh_context',
    'false',
    'left out',
  ],
  ['more agreement than votes', { 'multi_verifier.min_agree': 4 }, 'multi_verifier.min_agree', '4', 'lower it'],
  [
    'a licence of two minds',
    { 'gate_behaviour.licence': { min_n: 5, bad_stopped: {} } },
    'gate_behaviour.licence',
    'min_n',
    'keep one of the two',
  ],
  [
    'a licence in per cent',
    { 'gate_behaviour.licence': { lower_bound: 90 } },
    'gate_behaviour.licence.lower_bound',
    '90',
    'from 0 to 1',
  ],
  ['a source misspelt', { context: ['input.log'] }, 'context[0]', '"input.log"', 'inputs.NAME'],
  [
    'a value without its kind',
    { exit_values: ['report'] },
    'exit_values[0]',
    '"report"',
    'variables.NAME or channels.NAME',
  ],
]

describe('a person who writes a gate is told the file, the place, what is there and the way out', () => {
  test.each(GATE_MISTAKES)('%s', async (...mistake) => {
    expectTold(await toldOf('gates/report.yaml', 'gate', slipped(GATE, mistake[1])), 'gates/report.yaml', mistake)
  })

  test('a password in an address is not told', async () => {
    const probe = { type: 'http', url: 'https://me:hunter2@example.com/' }
    const told = await toldOf('gates/report.yaml', 'gate', slipped(GATE, { [PROBE]: probe }))
    expect(told).toHaveLength(1)
    expect(told[0]).toContain(`${PROBE}.url must be an http:// or https:// address of at most 2048 characters`)
    expect(told[0]).not.toContain('hunter2')
  })
})

const INTENT = slipped(intentDocument(), {
  type: 'constraint',
  success_criteria: [{ key: 'sources', description: 'Each claim has one' }],
  workflow_ids: ['newsroom'],
})

const INTENT_MISTAKES: readonly Mistake[] = [
  [
    'a field misspelt',
    { succes_criteria: [], success_criteria: undefined },
    'succes_criteria',
    '',
    'did you mean success_criteria?',
  ],
  [
    'camel case',
    { workflowIds: ['newsroom'], workflow_ids: undefined },
    'workflowIds',
    '',
    'did you mean workflow_ids?',
  ],
  ['a field one level too high', { key: 'sources' }, 'key', '', 'it belongs at success_criteria[].key'],
  [
    'a field one level too deep',
    { 'success_criteria[0].statement': 'x' },
    'success_criteria[0].statement',
    '',
    'it belongs at statement',
  ],
  [
    'a field of gates',
    { evaluation_criteria: [] },
    'evaluation_criteria',
    '',
    'remove it: the known fields are intent_id, type',
  ],
  ['no type', { type: undefined }, 'type', '', 'one of strategic, operational, constraint; add it'],
  ['no title', { title: undefined }, 'title', '', 'add it'],
  ['no statement', { statement: undefined }, 'statement', '', 'add it'],
  ['a type misspelt', { type: 'constrain' }, 'type', '"constrain"', 'did you mean constraint?'],
  ['a type in capitals', { type: 'Operational' }, 'type', '"Operational"', 'did you mean operational?'],
  ['a type that is none', { type: 'wish' }, 'type', '"wish"', 'one of strategic, operational, constraint'],
  ['a blank statement', { statement: ' ' }, 'statement', '" "', 'text that is not blank'],
  ['a statement too long', { statement: 'x'.repeat(16_385) }, 'statement', 'text of 16385 characters', 'at most 16384'],
  ['a list for a statement', { statement: ['Be true.'] }, 'statement', 'a list of 1', 'text that is not blank'],
  ['a number for a title', { title: 2024 }, 'title', '2024', 'write "2024" in quotes'],
  ['nothing after the colon', { title: null }, 'title', 'null', 'text that is not blank'],
  ['an id with spaces', { intent_id: 'true reports' }, 'intent_id', '"true reports"', 'letters, digits and . _ -'],
  ['one in place of a list', { workflow_ids: 'newsroom' }, 'workflow_ids', '"newsroom"', 'write ["newsroom"]'],
  ['an empty list', { workflow_ids: [] }, 'workflow_ids', 'a list of 0', 'a list of 1 to 50 items'],
  [
    'a workflow by its title',
    { workflow_ids: ['News Room'] },
    'workflow_ids[0]',
    '"News Room"',
    'the id of a workflow or of an agent',
  ],
  ['a workflow twice', { workflow_ids: ['a', 'a'] }, 'workflow_ids', '"a" twice', 'give each once'],
  [
    'a criterion as text',
    { 'success_criteria[0]': 'Each claim has a source' },
    'success_criteria[0]',
    '"Each claim has a source"',
    'an object',
  ],
  [
    'criteria as an object',
    { success_criteria: { sources: 'x' } },
    'success_criteria',
    'an object',
    'a list of at most 50 items',
  ],
  ['a criterion without a key', { 'success_criteria[0].key': undefined }, 'success_criteria[0].key', '', 'add it'],
  [
    'a key in capitals',
    { 'success_criteria[0].key': 'Sources' },
    'success_criteria[0].key',
    '"Sources"',
    'lower-case letters',
  ],
  [
    'a key twice',
    { success_criteria: ['a', 'a'].map(key => ({ key, description: 'd' })) },
    'success_criteria',
    '"a" twice',
    'give each once',
  ],
  [
    'a place, though it is no constraint',
    { type: 'operational' },
    'workflow_ids',
    'this is operational',
    "name the intent in a gate's intent_refs",
  ],
]

describe('a person who writes an intent is told the file, the place, what is there and the way out', () => {
  test.each(INTENT_MISTAKES)('%s', async (...mistake) => {
    expectTold(await toldOf('intents/true.yaml', 'intent', slipped(INTENT, mistake[1])), 'intents/true.yaml', mistake)
  })
})

/** Four fields, so there are few ways to go wrong. */
const KNOWLEDGE_MISTAKES: readonly Mistake[] = [
  ['a field misspelt', { titl: 'x', title: undefined }, 'titl', '', 'did you mean title?'],
  ['camel case', { entryId: 'house-style', entry_id: undefined }, 'entryId', '', 'did you mean entry_id?'],
  ['an address by another name', { uri: 'https://a.b/' }, 'uri', '', 'did you mean url?'],
  ['a field of gates', { context: [] }, 'context', '', 'remove it: the known fields are entry_id, title, text, url'],
  ['the text one level too deep', { text: { text: 'x' } }, 'text', 'an object', 'text that is not blank'],
  ['no title', { title: undefined }, 'title', '', 'add it'],
  ['no text', { text: undefined }, 'text', '', 'text that is not blank, of at most 32768 characters; add it'],
  ['a blank text', { text: '\n' }, 'text', '"\\n"', 'text that is not blank'],
  ['a text too long', { text: 'x'.repeat(32_769) }, 'text', 'text of 32769 characters', 'at most 32768'],
  ['letters that count twice', { title: '\u{1f600}'.repeat(200) }, 'title', 'text of 400 characters', 'at most 256'],
  ['lines as a list', { text: ['a', 'b'] }, 'text', 'a list of 2', 'text that is not blank'],
  ['a number for a title', { title: 2024 }, 'title', '2024', 'write "2024" in quotes'],
  ['a flag for a text', { text: true }, 'text', 'true', 'write "true" in quotes'],
  ['nothing after the colon', { text: null }, 'text', 'null', 'text that is not blank'],
  ['a path for an id', { entry_id: '../x' }, 'entry_id', '"../x"', 'letters, digits and . _ -'],
  ['an id too long', { entry_id: 'x'.repeat(129) }, 'entry_id', 'text of 129 characters', 'an id of 1 to 128'],
  ['another scheme', { url: 'ftp://example.com' }, 'url', '', 'an http:// or https:// address'],
  ['an address without a scheme', { url: 'example.com' }, 'url', '', 'an http:// or https:// address'],
  ['a password in an address', { url: 'https://me:hunter2@a.b/' }, 'url', '', 'without user name and password'],
  ['addresses in a list', { url: ['https://a.b/'] }, 'url', '', 'an http:// or https:// address'],
]

describe('a person who writes a knowledge entry is told the file, the place, what is there and the way out', () => {
  test.each(KNOWLEDGE_MISTAKES)('%s', async (...mistake) => {
    const told = await toldOf('knowledge/style.yaml', 'knowledge', slipped(knowledgeDocument(), mistake[1]))
    expectTold(told, 'knowledge/style.yaml', mistake)
    expect(told.join()).not.toContain('hunter2')
  })
})

test('without a mistake there is nothing to tell', () => {
  expect(completeStandard('gate', GATE, 'project')).toMatchObject({ ok: true })
  expect(completeStandard('intent', INTENT, 'project')).toMatchObject({ ok: true })
  expect(completeStandard('knowledge', knowledgeDocument(), 'project')).toMatchObject({ ok: true })
})
