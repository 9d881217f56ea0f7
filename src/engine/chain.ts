import { hash } from 'node:crypto'
import type { StoredEvent } from './ports.js'

type Link = Omit<StoredEvent, 'hash'>

/**
 * The hash that chains an event to all events before it. It covers everything that is stored of the event, also what
 * readers never see. The run's id is not part of it, so that a fork's log goes on where the shared beginning ends.
 */
export const chainHash = (previous: string, event: Link): string =>
  hash(
    'sha256',
    JSON.stringify([
      previous,
      event.sequence,
      event.type,
      event.nodeId,
      event.payload,
      event.secret,
      event.cause,
      event.at,
      event.input,
    ]),
    'base64url',
  )

export const CHAIN_START = ''
