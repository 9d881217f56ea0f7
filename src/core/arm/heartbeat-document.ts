import { type Static, Type } from 'typebox'
import type { JsonObject } from '../json.js'
import { AnyObject, ListOf, May, Whole } from '../schema/kinds.js'
import type { HeartbeatArm } from './arm.js'

/** What people write of a heartbeat. What its probes may be, the host says that runs them. */

export const LEAST_INTERVAL_SECONDS = 5
export const MOST_RUNTIME_SECONDS = 300
const MOST_INTERVAL_SECONDS = 31 * 86_400

export const HeartbeatFields = {
  intervalSeconds: Whole(LEAST_INTERVAL_SECONDS, MOST_INTERVAL_SECONDS, { description: 'How often it is looked' }),
  maxRuntimeSeconds: May(Whole(1, MOST_RUNTIME_SECONDS, { description: 'How long looking may take', default: 30 })),
  probes: ListOf(AnyObject(), 1, 20, {
    description: 'What is looked at: probes of type `http`, `command` and `file`; it holds when all of them do',
  }),
}

const Written = Type.Object(HeartbeatFields)

export const heartbeatArmOf = ({
  intervalSeconds,
  maxRuntimeSeconds,
  probes,
}: Required<Static<typeof Written>>): HeartbeatArm => ({
  kind: 'heartbeat',
  everyMs: intervalSeconds * 1_000,
  maxRuntimeMs: maxRuntimeSeconds * 1_000,
  predicate: { probes: probes as JsonObject[] },
})
