import { Type } from 'typebox'
import { CreateRunAnswer } from '../run.js'

export const CreatedRunAnswer = Type.Object({
  ...CreateRunAnswer.properties,
  warnings: Type.Optional(
    Type.Array(Type.String(), {
      description: 'What may be mistaken, such as an input that nothing in the workflow takes',
    }),
  ),
})
