import type { Performer } from '../../src/engine/ports/store.js'

export const decider: Performer
