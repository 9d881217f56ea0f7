// The ceiling: the same HTTP framework, answering the same requests at once and keeping nothing.
import fastify from 'fastify'

const app = fastify({ logger: false })
let count = 0
app.post('/v1/runs', (_request, reply) => {
  count += 1
  const runId = `00000000-0000-7000-8000-${String(count).padStart(12, '0')}`
  reply.code(201).type('application/json; charset=utf-8')
  return JSON.stringify({
    runId,
    status: 'running',
    eventsUrl: `/v1/runs/${runId}/events`,
    statusUrl: `/v1/runs/${runId}`,
  })
})
app.get('/v1/runs/:runId', (request, reply) => {
  reply.type('application/json; charset=utf-8')
  return JSON.stringify({
    runId: request.params.runId,
    workflowId: 'noop',
    status: 'completed',
    owner: { tenant: 'default' },
    nodeStates: {},
    variables: {},
  })
})
console.log(await app.listen({ host: '127.0.0.1', port: Number(process.argv[2]) }))
