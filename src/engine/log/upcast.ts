import { own } from '../../core/json.js'
import type { Recorded } from '../../core/run/events.js'

export type Upcasters = { readonly [type: string]: (event: Recorded) => Recorded }

/**
 * The one place where an event of an older shape becomes one of today's, before any rule sees it: by type, and by what
 * the event itself looks like. What is stored, chained and shown to readers stays as it was written. No type has changed
 * its shape so far.
 */
const UPCASTERS: Upcasters = {}

export const upcast = (event: Recorded, upcasters = UPCASTERS): Recorded => own(upcasters, event.type)?.(event) ?? event
