import { type Config, usableProviders, workerCapabilities } from './config.js'
import { ENGINE_VERSION } from './core/run/version.js'
import { httpConfig } from './http/config.js'
import { packageVersion } from './package-version.js'
import { wellKnownOf } from './peers/settings.js'

/** Bounds of the edge that are taken away, to measure what they are there for. */
type Unbounded = { readonly streams?: boolean; readonly buffers?: boolean; readonly strangers?: boolean }

const NO_RATE = { requestsPerSecond: 0, burst: 1 }

/** What of the configuration the HTTP edge goes by. */
export const httpSettings = async (config: Config, hostId: string, unbounded: Unbounded = {}) =>
  httpConfig({
    version: packageVersion(),
    engineVersion: Number(ENGINE_VERSION),
    conformance: config.conformance,
    production: false,
    accessLog: config.log.access,
    hostId,
    peers: Object.values(config.peers.hosts).map(peer => ({ ...peer, wellKnownUrl: wellKnownOf(peer) })),
    allowedHosts: config.allowedHosts,
    limits: {
      ...config.limits,
      ...(unbounded.streams ? { maxTurnBytes: Number.POSITIVE_INFINITY } : {}),
      ...(unbounded.buffers ? { maxStreamBufferBytes: Number.POSITIVE_INFINITY } : {}),
    },
    quotas: config.quotas,
    orchestrator: config.orchestrator,
    rateLimit: { key: config.rateLimit, ...(unbounded.strangers ? { anonymous: NO_RATE } : {}) },
    goals: { enabled: config.goals.enabled },
    memory: config.memory,
    horizonDays: config.scheduling.horizonDays,
    workspace: config.workspace,
    durableWebhooks: config.webhooks.durable,
    agents: {
      providers: await usableProviders(config),
      capabilities: workerCapabilities(config),
      priced: Object.keys(config.agents.prices).length > 0,
      maxRetries: config.agents.models.maxRetries,
      budget: config.budget,
    },
  })
