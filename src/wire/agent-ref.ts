import { type Static, Type } from 'typebox'
import { patternOf } from '../core/names.js'
import { OneOf } from '../core/schema/kinds.js'

/** Who acts (contract agents §13.1). */

const MODEL_CLASSES = [
  'reasoning',
  'tool-using',
  'chat',
  'code',
  'vision',
  'multimodal',
  'embedding',
  'classification',
  'retrieval',
] as const

const shown = {
  agentId: Type.String({ pattern: patternOf('actorId'), minLength: 3, maxLength: 256 }),
  name: Type.Optional(Type.String({ maxLength: 256 })),
  modelClass: Type.Optional(OneOf(MODEL_CLASSES)),
  version: Type.Optional(Type.String({ maxLength: 64 })),
  sourceManifestId: Type.Optional(Type.String({ maxLength: 256 })),
}

/** As a run shows it. Only a host that keeps long-term memory may show a `memoryRef`. */
export const AgentRef = Type.Object(shown, { additionalProperties: false })
export type AgentRef = Static<typeof AgentRef>

/** As a node pins it. */
export const AgentPin = Type.Object(
  {
    ...shown,
    memoryRef: Type.Optional(Type.String({ minLength: 1, maxLength: 256 })),
    channel: Type.Optional(
      Type.Unsafe<never>({
        not: {},
        description: 'Not supported; refused with validation_error',
        'x-refusal': 'is not supported, because agents are not deployed to channels here; pin a version instead',
      }),
    ),
  },
  { additionalProperties: false },
)
