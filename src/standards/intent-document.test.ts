import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Json, JsonObject } from '../core/json.js'
import { intentDocument, knowledgeDocument } from '../testing/standards.js'
import { completeIntent } from './intent-document.js'
import { completeKnowledge } from './knowledge-document.js'
import '../../test/support/seed.js'

describe('an intent', () => {
  test('is completed', () => {
    expect(completeIntent(intentDocument())).toEqual({
      ok: true,
      value: { ...intentDocument(), success_criteria: [] },
    })
  })

  test.each<[string, JsonObject, string]>([
    ['another type', { type: 'wish' }, 'type must be one of strategic, operational, constraint; got "wish"'],
    [
      'nothing to say',
      { statement: ' ' },
      'statement must be text that is not blank, of at most 16384 characters; got " "',
    ],
    [
      'a criterion twice',
      { success_criteria: ['a', 'a'].map(key => ({ key, description: 'd' })) },
      'success_criteria has "a" twice; give each once',
    ],
    [
      'a place, though it is no constraint',
      { workflow_ids: ['newsroom'] },
      "workflow_ids says where a constraint holds, and this is operational; remove it, and name the intent in a gate's intent_refs",
    ],
    [
      'no place at all',
      { type: 'constraint', workflow_ids: [] },
      'workflow_ids must be a list of 1 to 50 items; got a list of 0',
    ],
    [
      'a misspelt field',
      { sucess_criteria: [] },
      'sucess_criteria is not a known field; did you mean success_criteria?',
    ],
  ])('with %s is refused', (_, more, problem) => {
    expect(completeIntent(intentDocument(more))).toEqual({ ok: false, problems: [problem] })
  })
})

describe('a knowledge entry', () => {
  test('is taken as it is', () => {
    const document = knowledgeDocument({ url: 'https://example.com/style' })
    expect(completeKnowledge(document)).toEqual({ ok: true, value: document })
  })

  test.each<[string, JsonObject, string]>([
    [
      'too long a text',
      { text: 'x'.repeat(32_769) },
      'text must be text that is not blank, of at most 32768 characters; got text of 32769 characters',
    ],
    [
      'another scheme',
      { url: 'ftp://example.com' },
      'url must be an http:// or https:// address of at most 2048 characters, without user name and password',
    ],
    [
      'no usable id',
      { entry_id: '../x' },
      'entry_id must be an id of 1 to 128 letters, digits and . _ - (^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$); got "../x"',
    ],
  ])('with %s is refused', (_, more, problem) => {
    expect(completeKnowledge(knowledgeDocument(more))).toEqual({ ok: false, problems: [problem] })
  })
})

test('any JSON is one of them or has problems, never an exception', () => {
  const fields = [
    'intent_id',
    'type',
    'title',
    'statement',
    'success_criteria',
    'workflow_ids',
    'entry_id',
    'text',
    'url',
  ]
  fc.assert(
    fc.property(fc.constantFrom(...fields), fc.jsonValue({ maxDepth: 4 }), (field, value) => {
      for (const document of [value as Json, { ...intentDocument(), [field]: value as Json }])
        for (const read of [completeIntent(document), completeKnowledge(document)])
          expect(read.ok || read.problems.length > 0).toBe(true)
    }),
    { numRuns: 300 },
  )
})
