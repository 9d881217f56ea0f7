import { expect, test } from 'vitest'
import { parseJsonBody } from './json-body.js'

const LIMITS = { maxJsonDepth: 4, maxJsonMembers: 4 }

test.each(['{"a":', '[', 'a', '{"a":1,}', '{"a":1}}'])('%s is refused as what it is: not JSON', text => {
  const parsed = parseJsonBody(Buffer.from(text), LIMITS)
  expect(parsed).toMatchObject({ ok: false, refusal: { message: 'The request body is not valid JSON.' } })
})

test.each(['[[[[1]]]]', '{"a":1,"b":2,"c":3,"d":4}'])('%s is as deep, or as wide, as it may be', text => {
  expect(parseJsonBody(Buffer.from(text), LIMITS)).toEqual({ ok: true, value: JSON.parse(text) })
})
