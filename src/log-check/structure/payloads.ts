import { eachRun, type Rule } from '../checked.js'
import { isFields } from '../json.js'
import { CATALOGUE, CLOSED_PREFIXES, STREAM_ONLY, shapeOf, UNREPEATABLE, VENDOR_TYPE } from './catalogue.js'
import { DWS_TYPES } from './gate-shapes.js'
import { extraFields, fieldProblems } from './shape.js'

/** What events say: known types, documented fields, nothing more where the protocol closes the payload. */
export const payloadRules: readonly Rule[] = [
  {
    id: 'L31',
    title:
      'An event type is of the protocol’s catalogue or a vendor type; Assay’s own begin with assay. or are the three of dws.verification.',
    source: 'core §5.3, agents §23.3',
    checks: eachRun((run, say, log) => {
      for (const event of run.events) {
        if (!isKnownType(event.type, log.input.dialect !== 'openwop')) say(`unknown event type ${event.type}`, event)
      }
    }),
  },
  {
    id: 'L31a',
    title: 'Required fields are there and every field is of its kind; ids have at most 128 characters',
    source: 'core §5.4',
    checks: eachRun((run, say, log) => {
      const assay = log.input.dialect !== 'openwop'
      for (const event of run.events) {
        const shape = shapeOf(event.type)
        if (event.raw.payload === undefined) say('the payload is missing', event)
        else if (shape !== undefined && !isFields(event.raw.payload)) say('the payload is not an object', event)
        else if (shape !== undefined) {
          for (const problem of fieldProblems(shape, event.payload, assay)) say(`${event.type}: ${problem}`, event)
        }
        if (event.id.length === 0 || event.id.length > 128) say('the event id is not 1 to 128 characters', event)
        if ((event.node ?? 'n').length === 0 || (event.node ?? '').length > 128)
          say('the node id is not 1 to 128 characters', event)
      }
    }),
  },
  {
    id: 'L31b',
    title: 'Closed payloads have no other fields',
    source: 'core §5.4, agents §1.2',
    checks: eachRun((run, say, log) => {
      const assay = log.input.dialect !== 'openwop'
      for (const event of run.events) {
        for (const field of extraFields(shapeOf(event.type) ?? {}, event.payload, assay))
          say(`${event.type} has ${field}`, event)
      }
    }),
  },
  {
    id: 'L31c',
    title: 'Payloads carry no durations, so that a replay can reproduce them',
    source: 'core §13 no. 7',
    assayOnly: true,
    checks: eachRun((run, say) => {
      for (const event of run.events) {
        // How long a tool took is part of what it answered.
        if (event.type === 'agent.toolReturned') continue
        for (const field of UNREPEATABLE) {
          if (Object.hasOwn(event.payload, field)) say(`${event.type} has ${field}`, event)
        }
      }
    }),
  },
]

function isKnownType(type: string, assay: boolean): boolean {
  if (CATALOGUE.has(type)) return true
  if (STREAM_ONLY.includes(type) || CLOSED_PREFIXES.some(prefix => type.startsWith(prefix))) return false
  return VENDOR_TYPE.test(type) && (!assay || type.startsWith('assay.') || DWS_TYPES.includes(type))
}
