import type { FastifyInstance } from 'fastify'
import type { Clock } from '../engine/ports/clock.js'
import type { Log } from '../engine/ports/log.js'

/** One line per answer: who, what, how it went. Never a key, a body or a query. */
export function recordAccess(app: FastifyInstance, log: Log, clock: Clock, boot: string): void {
  const startedAt = new WeakMap<object, number>()
  app.addHook('onRequest', (request, _reply, done) => {
    startedAt.set(request, clock.monotonic())
    done()
  })
  app.addHook('onResponse', (request, reply, done) => {
    const { runId } = (request.params ?? {}) as { runId?: string }
    log.info(
      {
        correlationId: `${boot}-${request.id}`,
        method: request.method,
        route: request.routeOptions.url,
        status: reply.statusCode,
        ms: Math.round((clock.monotonic() - (startedAt.get(request) ?? clock.monotonic())) * 10) / 10,
        ...(request.caller === null ? undefined : { tenant: request.caller.tenant, keyId: request.caller.keyId }),
        ...(runId === undefined ? undefined : { runId }),
        ...(request.problemCode === '' ? undefined : { code: request.problemCode }),
      },
      'request',
    )
    done()
  })
}
