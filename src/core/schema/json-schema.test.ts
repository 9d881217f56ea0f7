import { expect, test } from 'vitest'
import { jsonSchemaOf } from './json-schema.js'
import { Closed, MapOf, May, Milliseconds, Text } from './kinds.js'

test('an editor is given the words of the schema, and nothing that only we read', () => {
  const schema = Closed({
    name: Text(9, { description: 'who it is' }),
    required: May(Text(5)),
    wait: May(Milliseconds(0, 5, { default: 1 })),
    labels: May(MapOf(/^a$/, 'the letter a', Text(3))),
  })
  const words = jsonSchemaOf(schema, 'A thing')
  expect(words).toMatchObject({
    title: 'A thing',
    type: 'object',
    additionalProperties: false,
    required: ['name'],
    properties: {
      name: { type: 'string', description: 'who it is: text that is not blank, of at most 9 characters' },
      wait: { type: 'integer', default: 1, description: 'a whole number of milliseconds from 0 to 5' },
      labels: { patternProperties: { '^a$': { type: 'string' } }, description: 'an object: the letter a' },
    },
  })
  expect(JSON.stringify(words)).not.toMatch(/"x-|~/)
})
