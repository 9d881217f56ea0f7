import { type Config, usableProviders } from './config.js'
import { ENGINE_VERSION } from './core/run/version.js'
import { httpConfig } from './http/config.js'
import { packageVersion } from './package-version.js'

/** What of the configuration the HTTP edge goes by. */
export const httpSettings = async (config: Config, unboundedTurns = false) =>
  httpConfig({
    version: packageVersion(),
    engineVersion: Number(ENGINE_VERSION),
    conformance: config.conformance,
    production: false,
    accessLog: config.log.access,
    allowedHosts: config.allowedHosts,
    limits: { ...config.limits, ...(unboundedTurns ? { maxTurnBytes: Number.POSITIVE_INFINITY } : {}) },
    quotas: config.quotas,
    orchestrator: config.orchestrator,
    rateLimit: { key: config.rateLimit },
    durableWebhooks: config.webhooks.durable,
    agents: {
      providers: await usableProviders(config),
      priced: Object.keys(config.agents.prices).length > 0,
      maxRetries: config.agents.models.maxRetries,
      budget: config.budget,
    },
  })
