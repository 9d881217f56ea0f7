import { expect, test } from 'vitest'
import { refusalInChunk, refusalInError, safetyRefusalOf } from './safety.js'

test('only words of a closed list are told', () => {
  expect(safetyRefusalOf('HARM_CATEGORY_SEXUALLY_EXPLICIT')).toEqual({ safetyCategory: 'sexual' })
  expect(safetyRefusalOf('the user asked for CNRY')).toEqual({})
})

test.each([
  [{ error: { code: 'content_filter' } }, {}],
  [{ error: { type: 'content_policy_violation' } }, {}],
  [
    {
      error: {
        code: 'x',
        innererror: {
          code: 'ResponsibleAIPolicyViolation',
          content_filter_result: { hate: { filtered: true }, violence: { filtered: false } },
        },
      },
    },
    { safetyCategory: 'hate' },
  ],
  [{ error: { code: 'invalid_request_error', message: 'content_filter' } }, undefined],
  [{ error: 'content_filter' }, undefined],
  ['content_filter', undefined],
  [null, undefined],
])('error %j', (body, expected) => {
  expect(refusalInError(body)).toEqual(expected)
})

test.each([
  [{ choices: [{ delta: { refusal: 'no' } }] }, {}],
  [{ choices: [{ delta: { refusal: '' } }] }, undefined],
  [{ choices: [{ delta: { content: 'I refuse' } }] }, undefined],
  [{ choices: [{ finish_reason: 'content_filter' }] }, {}],
  [{ promptFeedback: { blockReason: 'SAFETY' } }, {}],
  [{ candidates: [{ finishReason: 'SPII' }] }, { safetyCategory: 'privacy' }],
  [{ candidates: [{ finishReason: 'STOP' }] }, undefined],
  [{ choices: 'x', candidates: [7] }, undefined],
  [undefined, undefined],
])('chunk %j', (chunk, expected) => {
  expect(refusalInChunk(chunk)).toEqual(expected)
})
