import type { Static } from 'typebox'
import type { HeartbeatArm, ScheduleArm } from '../arm/arm.js'
import { HeartbeatFields, heartbeatArmOf } from '../arm/heartbeat-document.js'
import { ScheduleArmFields, scheduleArmOf, scheduleArmProblems } from '../arm/schedule-document.js'
import { isObject, type Json, type JsonObject } from '../json.js'
import { AnyObject, Closed, May } from '../schema/kinds.js'
import { filledBy } from '../schema/filled.js'
import { schemaProblems } from '../schema/problems.js'
import type { Shape } from '../schema/shape.js'
import type { WorkflowDefinition } from './definition.js'

/** Kinds of triggers that this host serves: somebody asks for a run, or it is time for one. */
const SERVED = ['manual', 'schedule']

/** The one event that a trigger of type `event` may wait for: what a heartbeat looks at is otherwise than it was. */
const STATE_CHANGED = 'heartbeat.stateChanged'

const INSTEAD: { readonly [type: string]: string } = {
  webhook: 'let whoever would call send POST /v1/runs instead',
  event: `start runs with POST /v1/runs; or keep it, with eventType "${STATE_CHANGED}" and what is to be looked at`,
}

/** Of one workflow. */
const MOST_SCHEDULES = 16

/** It is part of the names of things: of events, of lists. */
const TRIGGER_ID = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/

const { cron, timezone, ...others } = ScheduleArmFields

/** `config` of a trigger of type `schedule`. */
export const ScheduleConfigSchema = Closed({
  cron,
  timezone,
  inputs: May(AnyObject({ description: 'What each run is given', default: {} })),
  ...others,
})

/** `config` of a trigger of type `event`, whose `eventType` is STATE_CHANGED. */
export const HeartbeatConfigSchema = Closed({
  ...HeartbeatFields,
  inputs: May(AnyObject({ description: 'What each run is given', default: {} })),
})

/** What starts runs of a workflow by itself. */
export type ScheduleTrigger = {
  readonly triggerId: string
  readonly arm: ScheduleArm | HeartbeatArm
  readonly inputs: JsonObject
}

/** A trigger that nobody serves would wait for ever; one that is switched off asks for nothing. */
export function triggerProblems(triggers: readonly JsonObject[]): string[] {
  const asked = triggers.filter(({ enabled }) => enabled !== false)
  const schedules = asked.filter(one => one.type === 'schedule' || isHeartbeat(one))
  const ids = schedules.map(({ id }) => String(id))
  const twice = ids.find((id, i) => ids.indexOf(id) !== i)
  return [
    ...asked.filter(one => !SERVED.includes(String(one.type)) && !isHeartbeat(one)).map(unserved),
    ...schedules.flatMap(scheduleProblems),
    ...(twice === undefined ? [] : [`triggers: id "${twice}" is used twice; give each schedule its own`]),
    ...(schedules.length > MOST_SCHEDULES
      ? [`triggers has ${schedules.length} schedules; the limit is ${MOST_SCHEDULES}, so split the workflow`]
      : []),
  ]
}

const isHeartbeat = ({ type, eventType }: JsonObject): boolean => type === 'event' && eventType === STATE_CHANGED

function unserved({ id, type }: JsonObject): string {
  const instead = INSTEAD[String(type)] ?? 'start runs with `assay run` or POST /v1/runs'
  return `triggers["${String(id)}"].type is "${String(type)}", and nothing here would ever start it: this host serves ${SERVED.join(', ')}; remove it, and ${instead}`
}

function scheduleProblems(trigger: JsonObject): string[] {
  const { id, config = {}, nodeId, eventType } = trigger
  const isBeat = isHeartbeat(trigger)
  const what = isBeat ? 'heartbeat' : 'schedule'
  const at = `triggers["${String(id)}"]`
  if (!TRIGGER_ID.test(String(id)))
    return [
      `triggers: the id of a ${what} must be 1 to 64 letters, digits and . _ -, beginning with a letter or digit; it is ${JSON.stringify(id)}`,
    ]
  const idle = Object.entries({ nodeId, ...(isBeat ? {} : { eventType }) }).flatMap(([name, value]) =>
    value === undefined ? [] : [`${at}.${name} is read by nothing; a ${what} starts the whole workflow, so remove it`],
  )
  if (isBeat) return [...idle, ...schemaProblems(HeartbeatConfigSchema, config, `${at}.config`)]
  const misshapen = schemaProblems(ScheduleConfigSchema, config, `${at}.config`)
  if (misshapen.length > 0 || !isObject(config)) return [...idle, ...misshapen]
  return [...idle, ...scheduleArmProblems(config, `${at}.config`)]
}

/** The schedules of a workflow that was accepted. What an older host let pass and this one would not is none. */
export function schedulesOf({ triggers }: Pick<WorkflowDefinition, 'triggers'>): ScheduleTrigger[] {
  return triggers.flatMap((trigger): ScheduleTrigger[] => {
    const { id, type, enabled, config = {} } = trigger
    const isBeat = isHeartbeat(trigger)
    if (type !== 'schedule' && !isBeat) return []
    if (enabled === false || scheduleProblems(trigger).length > 0) return []
    const triggerId = String(id)
    if (isBeat) {
      const filled = filledBy(HeartbeatConfigSchema as Shape, config as Json)
      const { inputs, ...wanted } = filled as Required<Static<typeof HeartbeatConfigSchema>>
      return [{ triggerId, arm: heartbeatArmOf(wanted), inputs }]
    }
    const { inputs, ...wanted } = filledBy(ScheduleConfigSchema as Shape, config as Json) as Required<
      Static<typeof ScheduleConfigSchema>
    >
    return [{ triggerId, arm: scheduleArmOf(wanted), inputs }]
  })
}
