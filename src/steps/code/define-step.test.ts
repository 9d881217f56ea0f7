import { expect, expectTypeOf, it } from 'vitest'
import { defineStep, StepError } from './define-step.js'

it('knows the types of input, result and secrets from what the step says', () => {
  const step = defineStep({
    input: {
      type: 'object',
      properties: { word: { type: 'string' }, times: { type: 'number' } },
      required: ['word'],
    },
    output: { type: 'object', properties: { loud: { type: 'string' } }, required: ['loud'] },
    secrets: { token: { env: 'TOKEN' } },
    run({ input, secrets }) {
      expectTypeOf(input.word).toEqualTypeOf<string>()
      expectTypeOf(input.times).toEqualTypeOf<number | undefined>()
      expectTypeOf(secrets).toEqualTypeOf<{ readonly token: string }>()
      return { loud: input.word.toUpperCase() }
    },
  })
  expect(Object.keys(step)).toEqual(['input', 'output', 'secrets', 'run'])
})

it('a step may say that another try would not help', () => {
  expect(new StepError('no such channel')).toMatchObject({ name: 'StepError', retryable: false })
  expect(new StepError('busy', true).retryable).toBe(true)
})
