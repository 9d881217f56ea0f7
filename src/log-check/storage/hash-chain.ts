import { createHash } from 'node:crypto'
import { type CheckedEvent, type CheckedLink, eachRun, type Rule } from '../checked.js'

/** The chain of hashes: no event can be changed, put in or taken out without breaking it. */
export const hashChainRules: readonly Rule[] = [
  {
    id: 'L33',
    title:
      'The hash of an event chains it to all before; events without a hash are older than the chain and come first, links of an older form before newer ones',
    source: 'decision 0007',
    assayOnly: true,
    checks: eachRun((run, say) => {
      let previous = ''
      for (const event of run.events) {
        const { link } = event.raw
        if (link === undefined) return
        if (link.hash === '' && previous !== '') say('an event without a hash inside the chain', event)
        if (link.salt === null && previous.startsWith('2.')) say('a link of an older form after a newer one', event)
        if (link.hash !== '' && link.hash !== hashOf(previous, event.raw, link)) say('the chain is broken here', event)
        previous = link.hash === '' ? previous : link.hash
      }
    }),
  },
  {
    id: 'L33a',
    title: 'The head of a run is the hash of its last event',
    source: 'decision 0007',
    assayOnly: true,
    checks: eachRun((run, say) => {
      const head = run.run.row?.head
      const last = run.events.at(-1)
      if (head === undefined || (last !== undefined && last.raw.link === undefined)) return
      if (head !== (last?.raw.link?.hash ?? '')) say('the head is not the hash of the last event', last)
    }),
  },
]

/**
 * The id of the run is not part of it, so that a fork goes on with its source's chain. A link with a salt covers salted
 * digests of the event's content and says that it is of form 2; one without covers the content itself.
 */
function hashOf(previous: string, event: CheckedEvent, link: CheckedLink): string {
  const { sequence, type, nodeId = null, at } = event
  const { payload, secret, input, cause, foreignCause = null, salt } = link
  if (salt === null) return sha256([previous, sequence, type, nodeId, payload, secret, cause, at, input])
  const digest = (part: string, text: string | null) => (text === null ? '' : base64url([part, salt, text].join('\0')))
  const digests = [digest('payload', payload), digest('secret', secret), digest('input', input)]
  const place = nodeId === null ? '' : `=${nodeId}`
  const because = cause ?? (foreignCause === null ? '' : `=${foreignCause}`)
  return `2.${base64url(['2', previous, sequence, type, place, because, at, ...digests].join('\0'))}`
}

const sha256 = (covered: readonly unknown[]): string => base64url(JSON.stringify(covered))

const base64url = (text: string): string => createHash('sha256').update(text).digest('base64url')
