import type { JsonObject } from '../../core/json.js'
import type { BriefContents } from '../../engine/agent-ports.js'

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
  }
}
