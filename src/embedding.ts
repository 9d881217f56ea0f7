import type { Connection } from './client/http-call.js'
import { ensureLocalKey } from './client/local-key.js'
import { ConfigError, loadConfig, type Overrides } from './config.js'
import { suggestion } from './core/schema/suggest.js'
import type { Log } from './engine/ports/log.js'
import type { Performer } from './engine/ports/performer.js'
import { createHost } from './host.js'
import { SETTINGS } from './project/settings.js'

/**
 * What a program may say of the host that it embeds. What it leaves out is found where `assay serve` finds it: in the
 * environment, in `assay.config.yaml` of the project folder, or in the defaults.
 */
export type HostOptions = {
  /** Folder with `workflows/`, `agents/`, `gates/` and so on. Without one the host knows what is registered with it. */
  readonly project?: string
  /** Folder that holds everything the host keeps; `.assay` in the working folder by default. */
  readonly data?: string
  /** `sqlite:FILE`, `postgres://…` or `memory:`; a SQLite file in the data folder by default. */
  readonly database?: string
  /** Address to listen on; 127.0.0.1 by default. */
  readonly host?: string
  /** Port to listen on; 0 takes any free one. 4100 by default. */
  readonly port?: number
  /** A key that may do everything. By default one is made for this machine's user, in the data folder. */
  readonly apiKey?: string
  /** Any other setting, by its name in docs/reference/configuration.md: `{ 'limits.maxDepth': 4, 'log.level': 'warn' }`. */
  readonly settings?: { readonly [name: string]: string | number | boolean }
  /** In place of the variables of this process, for settings and for secrets. `{}`: the environment is not looked at. */
  readonly env?: { readonly [name: string]: string | undefined }
  /** Takes what the host logs, in place of JSON lines on stderr. */
  readonly log?: Log
  /** Who decides for supervisors that name a `provider`, by that name. */
  readonly providers?: { readonly [name: string]: Performer }
}

/** A host inside this program: it can be started once and stopped once. */
export interface EmbeddedHost {
  /** Where it listens; empty until it has started. */
  readonly url: string
  /** What a client of this host needs: its address and a key that may do everything. To be read once it has started. */
  readonly connection: Connection & { readonly key: string }
  /** Listens, takes up the runs that it finds, and registers what the project has. Rejects with ConfigError if that cannot be. */
  start(): Promise<void>
  /** Takes no new work, finishes what is in hand, and closes everything. Runs go on at the next start. */
  stop(): Promise<void>
}

/** Makes a host that is not started yet. Rejects with ConfigError when an option cannot be used. */
export async function embedHost({ log, providers = {}, ...options }: HostOptions = {}): Promise<EmbeddedHost> {
  const config = loadConfig(overridesOf(options), options.env)
  const host = await createHost(config, {
    ...(log && { log }),
    performers: new Map(Object.entries(providers)),
  })
  let key = config.apiKey
  return {
    get url() {
      return host.url
    },
    get connection() {
      if (host.url === '' || key === undefined)
        throw new Error('a host has no connection before it has started; await start() first')
      return { url: host.url, key }
    },
    async start() {
      await host.start()
      key ??= await ensureLocalKey(config.data)
    },
    stop: () => host.stop(),
  }
}

/** Settings by name, as `loadConfig` takes them; a name that is none is refused. */
export function overridesOf({ settings = {}, env: _env, ...named }: Omit<HostOptions, 'log' | 'providers'>): Overrides {
  const known = Object.keys(SETTINGS)
  const strange = Object.keys(settings).filter(name => !known.includes(name))
  if (strange.length > 0)
    throw new ConfigError(
      strange.map(name => `settings: ${JSON.stringify(name)} is not a setting${suggestion(name, known, 'settings')}`),
    )
  return { ...settings, ...named }
}
