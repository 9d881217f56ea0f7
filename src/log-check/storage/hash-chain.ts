import { createHash } from 'node:crypto'
import { type CheckedEvent, type CheckedLink, eachRun, type Rule } from '../checked.js'

/** The chain of hashes: no event can be changed, put in or taken out without breaking it. */
export const hashChainRules: readonly Rule[] = [
  {
    id: 'L33',
    title:
      'The hash of an event chains it to all before; events without a hash are older than the chain and come first',
    source: 'RELIABILITY L33',
    assayOnly: true,
    checks: eachRun((run, say) => {
      let previous = ''
      for (const event of run.events) {
        const { link } = event.raw
        if (link === undefined) return
        if (link.hash === '' && previous !== '') say('an event without a hash inside the chain', event)
        if (link.hash !== '' && link.hash !== hashOf(previous, event.raw, link)) say('the chain is broken here', event)
        previous = link.hash === '' ? previous : link.hash
      }
    }),
  },
  {
    id: 'L33a',
    title: 'The head of a run is the hash of its last event',
    source: 'RELIABILITY L33',
    assayOnly: true,
    checks: eachRun((run, say) => {
      const head = run.run.row?.head
      const last = run.events.at(-1)
      if (head === undefined || (last !== undefined && last.raw.link === undefined)) return
      if (head !== (last?.raw.link?.hash ?? '')) say('the head is not the hash of the last event', last)
    }),
  },
]

/** The id of the run is not part of it, so that a fork goes on with its source's chain. */
function hashOf(previous: string, { sequence, type, nodeId, at }: CheckedEvent, link: CheckedLink): string {
  const covered = [previous, sequence, type, nodeId ?? null, link.payload, link.secret, link.cause, at, link.input]
  return createHash('sha256').update(JSON.stringify(covered)).digest('base64url')
}
