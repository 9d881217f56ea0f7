import { promisify } from 'node:util'
import type { Engine } from './engine/runtime/engine.js'
import type { Ground } from './ground.js'
import type { createApp } from './http/app.js'
import type { QueueLoad } from './timing/fair-queue.js'

type App = ReturnType<typeof createApp>

/** How much is in use now of what the host has a bound for, counted where it is given out and taken back. */
export type HostLoad = Engine['load'] &
  ReturnType<App['load']> & {
    readonly sockets: number
    /** Those who wait for their turn of the event loop. */
    readonly turns: number
    /** Workers that check schemas, and those that run probes. */
    readonly schemas: QueueLoad
    readonly probes: QueueLoad
  }

export const loadOf =
  (engine: Engine, app: App, { turns, schemas, pure }: Ground) =>
  async (): Promise<HostLoad> => ({
    ...engine.load,
    ...app.load(),
    sockets: await promisify(app.server.getConnections.bind(app.server))(),
    turns: turns.waiting,
    schemas: schemas.load,
    probes: pure.load,
  })
