import type { Static } from 'typebox'
import type { ScheduleArm } from '../arm/arm.js'
import { ScheduleArmFields, scheduleArmOf, scheduleArmProblems } from '../arm/schedule-document.js'
import { isObject, type Json, type JsonObject } from '../json.js'
import { AnyObject, Closed, May } from '../schema/kinds.js'
import { filledBy } from '../schema/filled.js'
import { schemaProblems } from '../schema/problems.js'
import type { Shape } from '../schema/shape.js'
import type { WorkflowDefinition } from './definition.js'

/** Kinds of triggers that this host serves: somebody asks for a run, or it is time for one. */
const SERVED = ['manual', 'schedule']

const INSTEAD: { readonly [type: string]: string } = {
  webhook: 'let whoever would call send POST /v1/runs instead',
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

export type ScheduleTrigger = {
  readonly triggerId: string
  readonly arm: ScheduleArm
  readonly inputs: JsonObject
}

/** A trigger that nobody serves would wait for ever; one that is switched off asks for nothing. */
export function triggerProblems(triggers: readonly JsonObject[]): string[] {
  const asked = triggers.filter(({ enabled }) => enabled !== false)
  const schedules = asked.filter(({ type }) => type === 'schedule')
  const ids = schedules.map(({ id }) => String(id))
  const twice = ids.find((id, i) => ids.indexOf(id) !== i)
  return [
    ...asked.filter(({ type }) => !SERVED.includes(String(type))).map(unserved),
    ...schedules.flatMap(scheduleProblems),
    ...(twice === undefined ? [] : [`triggers: id "${twice}" is used twice; give each schedule its own`]),
    ...(schedules.length > MOST_SCHEDULES
      ? [`triggers has ${schedules.length} schedules; the limit is ${MOST_SCHEDULES}, so split the workflow`]
      : []),
  ]
}

function unserved({ id, type }: JsonObject): string {
  const instead = INSTEAD[String(type)] ?? 'start runs with `assay run` or POST /v1/runs'
  return `triggers["${String(id)}"].type is "${String(type)}", and nothing here would ever start it: this host serves ${SERVED.join(', ')}; remove it, and ${instead}`
}

function scheduleProblems({ id, config = {}, nodeId, eventType }: JsonObject): string[] {
  const at = `triggers["${String(id)}"]`
  if (!TRIGGER_ID.test(String(id)))
    return [
      `triggers: the id of a schedule must be 1 to 64 letters, digits and . _ -, beginning with a letter or digit; it is ${JSON.stringify(id)}`,
    ]
  const idle = Object.entries({ nodeId, eventType }).flatMap(([name, value]) =>
    value === undefined ? [] : [`${at}.${name} is read by nothing; a schedule starts the whole workflow, so remove it`],
  )
  const misshapen = schemaProblems(ScheduleConfigSchema, config, `${at}.config`)
  if (misshapen.length > 0 || !isObject(config)) return [...idle, ...misshapen]
  return [...idle, ...scheduleArmProblems(config, `${at}.config`)]
}

/** The schedules of a workflow that was accepted. What an older host let pass and this one would not is none. */
export function schedulesOf({ triggers }: Pick<WorkflowDefinition, 'triggers'>): ScheduleTrigger[] {
  return triggers.flatMap(trigger => {
    const { id, type, enabled, config = {} } = trigger
    if (type !== 'schedule' || enabled === false || scheduleProblems(trigger).length > 0) return []
    const { inputs, ...wanted } = filledBy(ScheduleConfigSchema as Shape, config as Json) as Required<
      Static<typeof ScheduleConfigSchema>
    >
    return [{ triggerId: String(id), arm: scheduleArmOf(wanted), inputs }]
  })
}
