import type { Performer } from '../../src/engine/ports.js'

export const decider: Performer
