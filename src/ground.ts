import { pino } from 'pino'
import { type Config, storeOf } from './config.js'
import { createEgress, type Resolver } from './egress/egress.js'
import type { Agents } from './engine/ports/agents.js'
import type { Clock, Ids, Random } from './engine/ports/clock.js'
import type { Log } from './engine/ports/log.js'
import type { Performer } from './engine/ports/performer.js'
import type { Store } from './engine/ports/store.js'
import { createPureProbes, pureProbesHere } from './probes/pure-probes.js'
import { createLongRedactor } from './secrets/long-redactor.js'
import { redactingLog } from './secrets/redacting-log.js'
import { createSecrets } from './secrets/secrets.js'
import { lockDataFolder } from './store/data-lock.js'
import { openStore } from './store/open-store.js'
import { systemClock, systemIds, systemRandom } from './system.js'
import { Turns } from './timing/turns.js'
import { createSchemaChecker } from './user-schema/schema-checker.js'

/** What tests and embedding programs may replace. */
export type HostParts = {
  readonly clock?: Clock
  readonly ids?: Ids
  readonly random?: Random
  readonly log?: Log
  /** Wraps the store, to watch it or to break it. */
  readonly wrapStore?: (store: Store) => Store
  readonly performers?: ReadonlyMap<string, Performer>
  readonly agents?: Agents
  /** Looks up the addresses of names that requests go out to. */
  readonly resolve?: Resolver
  /** Bounds that are taken away, to measure what they are there for (`bench/`). No setting leads here. */
  readonly unbounded?: Unbounded
}

export type Unbounded = {
  /** What a decision may take. */
  readonly decisions?: boolean
  /** What readers of logs get in a turn, and that they take turns. */
  readonly streams?: boolean
  /** That long probes are done elsewhere. */
  readonly probes?: boolean
  /** How often an address may ask without a valid key. */
  readonly strangers?: boolean
}

/** How each part that was opened is closed, in the order of the opening. */
export type Opened = (() => unknown)[]

/**
 * One guard, and a way out for each purpose, so that opening one to this machine and its network opens no other. What
 * the operator has configured by its URL, a model's provider or a tool server, is let out to that origin alone.
 */
function waysOut({ webhooks, tools, probes, steps }: Config, clock: Clock, resolve: Resolver | undefined) {
  const wayOut = (allowPrivate: boolean) => createEgress({ allowPrivate, clock, ...(resolve ? { resolve } : {}) })
  return {
    webhooks: wayOut(webhooks.allowPrivate),
    tools: wayOut(tools.allowPrivate),
    probes: wayOut(probes.allowPrivate),
    steps: wayOut(steps.allowPrivate),
    configured: wayOut(false),
  }
}

/** What everything else stands on: the data folder, the database, time, and the way out. */
export async function layGround(config: Config, parts: HostParts, opened: Opened) {
  const clock = parts.clock ?? systemClock
  const ids = parts.ids ?? systemIds
  opened.push(await lockDataFolder(config.data))
  const database = await openStore(...storeOf(config.database))
  opened.push(() => database.close())
  const store = parts.wrapStore?.(database) ?? database
  const weightOf = (tenant: string) => config.quotas(tenant).weight
  const schemas = createSchemaChecker({ weightOf })
  opened.push(() => schemas.close())
  const pure = parts.unbounded?.probes ? pureProbesHere(clock) : createPureProbes(clock, weightOf)
  opened.push(() => pure.close())
  const secrets = createSecrets(config.readSecret)
  const longTexts = createLongRedactor(secrets, weightOf)
  opened.push(() => longTexts.close())
  const log = redactingLog(parts.log ?? pino({ level: config.log.level }, pino.destination(2)), secrets.redact)
  const egress = waysOut(config, clock, parts.resolve)
  opened.push(() => {
    for (const way of Object.values(egress)) way.close()
  })
  const turns = new Turns()
  return {
    clock,
    ids,
    random: parts.random ?? systemRandom,
    store,
    schemas,
    pure,
    secrets,
    longTexts,
    log,
    egress,
    turns,
  }
}

export type Ground = Awaited<ReturnType<typeof layGround>>
