import { expect, test } from 'vitest'
import { MODEL_CLASSES } from '../../core/invocation/brief.js'
import { shownModelClass } from './model-class.js'

test('every class of a manifest has a name that an AgentRef may use', () => {
  expect(Object.fromEntries(MODEL_CLASSES.map(each => [each, shownModelClass(each)]))).toEqual({
    reasoning: 'reasoning',
    writing: 'chat',
    coding: 'code',
    research: 'chat',
    classification: 'classification',
    general: 'chat',
  })
})
