import { Type } from 'typebox'
import { OneOf } from '../core/schema/kinds.js'
import { RunEventDoc } from './event.js'
import { Timestamp } from './ids.js'

export const BUNDLE_VERSION = '1.0'
export const MAX_BUNDLE_BYTES = 8 * 1024 * 1024

export const DebugBundleQuery = Type.Object({
  maxEvents: Type.Optional(
    Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER, description: 'Events from the start of the log' }),
  ),
})

export const DebugBundle = Type.Object({
  bundleVersion: Type.String({ pattern: '^[0-9]+\\.[0-9]+$' }),
  generatedAt: Timestamp,
  host: Type.Object({ name: Type.String(), version: Type.String(), vendor: Type.String() }),
  run: Type.Record(Type.String(), Type.Unknown(), { description: 'The snapshot, without its content' }),
  events: Type.Array(RunEventDoc),
  spans: Type.Array(Type.Unknown()),
  metrics: Type.Object({
    openwopCost: Type.Null(),
    nodeCount: Type.Integer({ minimum: 0 }),
    eventCount: Type.Integer({ minimum: 0 }),
  }),
  redactionApplied: Type.Boolean(),
  redactionMode: OneOf(['mask']),
  truncated: Type.Optional(Type.Literal(true)),
  truncatedReason: Type.Optional(OneOf(['events_truncated_to_size_cap', 'events_truncated_to_max_events'])),
})
