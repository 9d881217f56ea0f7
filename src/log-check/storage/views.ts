import { type CheckedEvent, eachRun, type Rule } from '../checked.js'
import { same } from '../json.js'

/** One log, read in several places. */
export const viewRules: readonly Rule[] = [
  {
    id: 'L11',
    title: 'A log is the same wherever it is read',
    source: 'core §2.1, §6',
    checks: eachRun((run, say) => {
      for (const [name, read] of Object.entries(run.run.views ?? {})) {
        const count = run.events.length
        if (read.length !== count) say(`${name} has ${read.length} events, the log ${count}`)
        const place = run.events.findIndex(
          (event, i) => read[i] !== undefined && !same(shown(event.raw), shown(read[i])),
        )
        if (place >= 0) say(`${name} tells it otherwise`, run.events[place])
      }
    }),
  },
]

/** What readers see of an event. */
const shown = ({ sequence, eventId, type, nodeId, payload, causationId, at }: CheckedEvent): unknown => [
  sequence,
  eventId,
  type,
  nodeId ?? null,
  payload,
  causationId ?? null,
  at,
]
