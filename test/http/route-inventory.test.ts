import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type KeyName, type Reply, startHttp, type TestHost } from './harness.js'

let host: TestHost
beforeAll(async () => {
  host = await startHttp()
})
afterAll(() => host.close())

/** The auth matrix: which scope each operation asks for. A route that is not here fails the inventory. */
const MATRIX: { readonly [operation: string]: string } = {
  discover: 'public',
  describe: 'public',
  health: 'public',
  ready: 'public',
  live: 'public',
  listWorkflows: 'manifest:read',
  getWorkflow: 'manifest:read',
  registerWorkflow: 'workflows:write',
  replaceWorkflow: 'workflows:write',
  validateWorkflow: 'workflows:write',
  listGates: 'manifest:read',
  getGate: 'manifest:read',
  registerGate: 'workflows:write',
  removeGate: 'workflows:write',
  getCalibration: 'manifest:read',
  listVerdicts: 'artifacts:read',
  listIntents: 'manifest:read',
  getIntent: 'manifest:read',
  registerIntent: 'workflows:write',
  removeIntent: 'workflows:write',
  listKnowledge: 'manifest:read',
  getKnowledge: 'manifest:read',
  registerKnowledge: 'workflows:write',
  removeKnowledge: 'workflows:write',
  listAgents: 'manifest:read',
  getAgent: 'manifest:read',
  listTools: 'manifest:read',
  getTool: 'manifest:read',
  listToolServers: 'transcripts:read',
  listPrompts: 'manifest:read',
  createPrompt: 'manifest:read',
  renderPrompt: 'manifest:read',
  getPrompt: 'manifest:read',
  replacePrompt: 'manifest:read',
  removePrompt: 'manifest:read',
  chat: 'runs:create',
  createRun: 'runs:create',
  listRuns: 'runs:read',
  getRun: 'runs:read',
  getRunAncestry: 'runs:read',
  getRunReceipt: 'runs:read',
  cancelRun: 'runs:cancel',
  cancelRunAlias: 'runs:cancel',
  bulkCancelRuns: 'runs:cancel',
  pauseRun: 'runs:cancel',
  resumeRun: 'runs:cancel',
  retryRun: 'runs:create',
  streamRunEvents: 'runs:read',
  pollRunEvents: 'runs:read',
  getArtifact: 'artifacts:read',
  readTranscript: 'transcripts:read',
  listVerifications: 'artifacts:read',
  listWithheld: 'artifacts:read',
  getVerification: 'artifacts:read',
  forkRun: 'runs:create',
  listInterrupts: 'runs:read',
  resolveInterrupt: 'approvals:respond',
  linkInterrupt: 'approvals:respond',
  inspectInterruptByToken: 'token',
  resolveInterruptByToken: 'token',
  compareRuns: 'runs:read',
  diffRuns: 'runs:read',
  getDebugBundle: 'runs:read',
  listAnnotations: 'runs:read',
  annotateRun: 'runs:read',
  listSchedules: 'runs:read',
  getSchedule: 'runs:read',
  pauseSchedule: 'workflows:write',
  resumeSchedule: 'workflows:write',
  runSchedule: 'runs:create',
  createGoal: 'goals:write',
  listGoals: 'goals:read',
  getGoal: 'goals:read',
  editGoal: 'goals:write',
  editGoalByPost: 'goals:write',
  pauseGoal: 'goals:write',
  resumeGoal: 'goals:write',
  abandonGoal: 'goals:write',
  runGoal: 'goals:write',
  streamGoalEvents: 'goals:read',
  pollGoalEvents: 'goals:read',
  createGoalSample: 'goals:write',
  listGoalsSample: 'goals:read',
  getGoalSample: 'goals:read',
  editGoalSample: 'goals:write',
  editGoalByPostSample: 'goals:write',
  pauseGoalSample: 'goals:write',
  resumeGoalSample: 'goals:write',
  abandonGoalSample: 'goals:write',
  runGoalSample: 'goals:write',
  streamGoalEventsSample: 'goals:read',
  pollGoalEventsSample: 'goals:read',
  getGoalDetails: 'goals:read',
  getGoalCertificate: 'goals:read',
  makeCommitment: 'runs:create',
  listCommitments: 'memory:read',
  getCommitment: 'memory:read',
  cancelCommitment: 'runs:create',
  listMemory: 'memory:read',
  listMemoryScopes: 'memory:read',
  getMemory: 'memory:read',
  forgetMemory: 'memory:forget',
  consolidateMemory: 'memory:forget',
  listFiles: 'workspace:read',
  getFile: 'workspace:read',
  putFile: 'workspace:write',
  removeFile: 'workspace:write',
  readStream: 'runs:read',
  getOwnKey: 'authenticated',
  listKeys: 'keys:manage',
  createKey: 'keys:manage',
  revokeKey: 'keys:manage',
  getTenant: 'tenants:manage',
  eraseTenant: 'tenants:manage',
  listWebhooks: 'webhooks:manage',
  registerWebhook: 'webhooks:manage',
  removeWebhook: 'webhooks:manage',
  listDeliveries: 'webhooks:manage',
  getQuotas: 'manifest:read',
  listPublicKeys: 'authenticated',
  verifyAudit: 'audit:read',
  listAuditTrail: 'audit:read',
}

const ask = (key: KeyName | null, row: { method: string; path: string }): Promise<Reply> =>
  host.call(key, { method: row.method as 'GET', url: row.path.replace(/\{\w+\}/g, 'x1') })

const keyed = () => host.app.routeTable.filter(({ access }) => access !== 'public' && access !== 'token')

const PROMPTS = ['listPrompts', 'createPrompt', 'renderPrompt', 'getPrompt', 'replacePrompt', 'removePrompt']
const ABSENT = ['listAnnotations', 'annotateRun', ...PROMPTS]
const NOT_PROVIDED = [501, 'capability_not_provided']

describe('every route is accounted for', () => {
  test('each registered route has a row in the auth matrix, and each row a route', () => {
    const table = Object.fromEntries(host.app.routeTable.map(row => [row.operation, row.access]))
    expect(table).toEqual(MATRIX)
  })

  test('nothing is registered that is not in the route table', () => {
    const shown = host.app.printRoutes({ commonPrefix: false })
    const registered = [...shown.matchAll(/\(([A-Z, ]+)\)/g)].flatMap(match => (match[1] ?? '').split(', '))
    const expected = host.app.routeTable.flatMap(row => (row.access === 'public' ? ['HEAD', row.method] : [row.method]))
    expect(registered.sort()).toEqual(expected.sort())
  })

  test('R-AUTH-1 R-REST-15: without a key every protected route is 401, before anything else is looked at', async () => {
    for (const row of keyed()) {
      const reply = await ask(null, row)
      expect([row.operation, reply.status, reply.json.error]).toEqual([row.operation, 401, 'unauthenticated'])
      expect(reply.headers['www-authenticate']).toContain('Bearer')
    }
  })

  test('R-AUTH-4: a key without the scope gets 403 that names it, and no other scope stands in', async () => {
    for (const row of keyed().filter(({ access }) => access !== 'authenticated')) {
      const key = row.access === 'runs:cancel' ? 'reader' : 'canceller'
      const reply = await ask(key, row)
      expect([row.operation, reply.status, reply.json.error]).toEqual([row.operation, 403, 'forbidden'])
      expect(reply.json.details).toEqual({ scopeRequired: row.access })
      expect(Object.keys(reply.json).sort()).toEqual(['details', 'error', 'message'])
    }
  })

  test('R-REST-20: with the scope no route is 401, 403 or 5xx; what is not provided is 501', async () => {
    for (const row of host.app.routeTable) {
      const reply = await ask([row.access, row.alsoNeeds].includes('tenants:manage') ? 'operator' : 'alice', row)
      const said = `${row.operation} ${reply.text}`
      if (ABSENT.includes(row.operation)) expect([reply.status, reply.json.error], said).toEqual(NOT_PROVIDED)
      else expect([401, 403].includes(reply.status) || reply.status >= 500, said).toBe(false)
    }
  })

  test('a route that needs two scopes names the one that is missing', async () => {
    const reply = await ask('starter', { method: 'POST', path: '/v1/runs/{runId}:fork' })
    expect([reply.status, reply.json.details]).toEqual([403, { scopeRequired: 'runs:read' }])
  })

  test('a wrong method is 405 with Allow', async () => {
    const reply = await host.call('alice', { method: 'PUT', url: '/v1/runs/abc' })
    expect([reply.status, reply.json.error, reply.headers.allow]).toEqual([405, 'method_not_allowed', 'GET'])
    expect((await host.call('alice', { method: 'DELETE', url: '/v1/runs' })).headers.allow).toBe('POST, GET')
  })

  test.each(['/runs', '/runs/abc', '/workflows/x', '/keys'])('R-REST-1: %s without /v1 is 400', async url => {
    const reply = await host.call('alice', { url })
    expect([reply.status, reply.json.error]).toEqual([400, 'unsupported_version'])
  })

  test.each(['/', '/v1', '/v2/runs', '/v1/runs/a/b', '/v1/runs/abc/', '/v1/runs/abc:frobnicate', '/metrics', '/debug'])(
    '%s is 404 with the closed envelope',
    async url => {
      const reply = await host.call('alice', { url })
      expect([reply.status, reply.json.error]).toEqual([404, 'not_found'])
    },
  )

  test('A9 R-SEAM-1: test seams are absent unless they are mounted, with and without a key', async () => {
    for (const key of [null, 'alice'] as const) {
      const reply = await host.call(key, { method: 'POST', url: '/v1/host/sample/test/reset', payload: {} })
      expect(reply.status).toBe(404)
    }
  })
})
