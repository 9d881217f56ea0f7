import { type Static, Type } from 'typebox'
import type { JsonObject } from '../core/json.js'
import { Timestamp } from './ids.js'

/** What it holds is checked, and completed, by `src/standards/`, which says more about it than a schema could. */
export const StandardBody = Type.Unsafe<JsonObject>({
  type: 'object',
  description: 'The document; docs/guides/verification.md says what it holds',
})

export const StandardAnswer = Type.Object({
  id: Type.String(),
  title: Type.String(),
  version: Type.Integer({ minimum: 1, description: 'Rises when the document changes' }),
  hash: Type.String({ description: 'SHA-256 of the document, complete' }),
  shared: Type.Boolean({ description: 'Comes with the project and belongs to every tenant' }),
  removed: Type.Optional(
    Type.Literal(true, {
      description: 'A gate whose file is gone, and whose workflow does not start until `retired` names it',
    }),
  ),
  updatedAt: Timestamp,
})
export type StandardAnswer = Static<typeof StandardAnswer>

export const StandardShown = Type.Object({
  ...StandardAnswer.properties,
  document: Type.Unsafe<JsonObject>({
    type: 'object',
    description: 'With everything filled in that its author left out',
  }),
})

export const ListGatesAnswer = Type.Object({ gates: Type.Array(StandardAnswer) })
export const ListIntentsAnswer = Type.Object({ intents: Type.Array(StandardAnswer) })
export const ListKnowledgeAnswer = Type.Object({ knowledge: Type.Array(StandardAnswer) })
