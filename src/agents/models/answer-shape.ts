import { isObject, type JsonObject } from '../../core/json.js'
import type { BriefContents } from '../../engine/ports/agents.js'

const definitionsOf = ({ $defs, definitions }: JsonObject): JsonObject => ({
  ...(isObject($defs) && { $defs }),
  ...(isObject(definitions) && { definitions }),
})

/** The schema of the whole answer as it is asked for; undefined when that is plain text. */
export function answerShape({ wrapped, returnSchema }: BriefContents): JsonObject | undefined {
  if (!wrapped) return returnSchema
  return {
    type: 'object',
    properties: {
      result: returnSchema ?? {},
      confidence: { type: 'number', minimum: 0, maximum: 1 },
      reasoning: { type: 'string' },
    },
    required: ['result', 'confidence'],
    // References within the agent's schema are from its root, which is now one level down.
    ...definitionsOf(returnSchema ?? {}),
  }
}
