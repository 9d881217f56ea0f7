import { type Static, Type } from 'typebox'
import type { JsonObject } from '../../core/json.js'
import type { RunEngine } from '../../engine/api.js'
import type { StoredEvent } from '../../engine/ports/event-log.js'
import { json } from '../../http/http-answer.js'
import { type Route, route } from '../../http/route.js'
import { EventsAnswer, type RunEventDoc } from '../../wire/event.js'
import { renderEvent } from '../../wire/render.js'
import type { MockPrograms } from '../mock-programs.js'
import type { SwitchedOff } from '../switched-off.js'

const Wanted = Type.Object({
  type: Type.Optional(Type.String({ maxLength: 256, description: 'Only of this type' })),
  nodeId: Type.Optional(Type.String({ maxLength: 256, description: 'Only of this node' })),
  causationId: Type.Optional(Type.String({ maxLength: 256, description: 'Only those due to this event' })),
  correlationId: Type.Optional(
    Type.String({ maxLength: 256, description: 'Only those whose payload has this correlationId' }),
  ),
})

/** Logs of tests are short. */
const MOST_EVENTS = 10_000

export const readTestLog = (engine: Pick<RunEngine, 'readEvents'>, engineVersion: string): Route =>
  route({
    method: 'GET',
    path: '/v1/host/sample/test/runs/{runId}/events',
    operation: 'readTestLog',
    summary: 'Conformance mode only: the log of a run, or nothing of a run that there is not',
    access: 'runs:read',
    query: Wanted,
    responses: { 200: { description: 'What is asked for of the log', schema: EventsAnswer } },
    refusals: ['validation_error'],
    async handle({ caller, params, query }) {
      const stored = (await engine.readEvents(caller.tenant, params.runId, 0, MOST_EVENTS)) ?? []
      const events = stored.map(event => shown(params.runId, event, engineVersion))
      return json(200, { events: events.filter(event => isWanted(event, query)) })
    },
  })

type Wanted = Static<typeof Wanted>
type ShownEvent = Static<typeof RunEventDoc>

/** As every reader of the log is told it. */
const shown = (runId: string, event: StoredEvent, engineVersion: string): ShownEvent =>
  JSON.parse(renderEvent(runId, event, { engineVersion }))

function isWanted(event: ShownEvent, { type, nodeId, causationId, correlationId }: Wanted): boolean {
  const payload = event.payload as JsonObject
  return (
    (type === undefined || event.type === type) &&
    (nodeId === undefined || event.nodeId === nodeId) &&
    (causationId === undefined || event.causationId === causationId) &&
    (correlationId === undefined || payload.correlationId === correlationId)
  )
}

export const resetTests = (programs: MockPrograms, switchedOff: SwitchedOff): Route =>
  route({
    method: 'POST',
    path: '/v1/host/sample/test/reset',
    operation: 'resetTests',
    summary: 'Conformance mode only: forgets the programs of this tenant, and switches its capabilities on again',
    access: 'authenticated',
    body: Type.Object({}),
    bodyOptional: true,
    responses: { 200: { description: 'It is as if nobody had tested', schema: Type.Object({ ok: Type.Boolean() }) } },
    refusals: ['validation_error'],
    handle({ caller: { tenant } }) {
      programs.reset(tenant)
      switchedOff.reset(tenant)
      return json(200, { ok: true })
    },
  })
