import { at } from '../e2e/judging/project.js'
import { node, workflow } from '../http/harness.js'
import { COMMITMENT_OPERATIONS } from './commitment-operations.js'
import { GOAL_OPERATIONS } from './goal-operations.js'
import { type Ask, isOver, type KeyOf, type LiveHost } from './live-host.js'

/** A request that ought to succeed, for every operation of the OpenAPI document. */
export type Good = { readonly url: string; readonly ask?: Ask; readonly who?: KeyOf }

/** What is there to be asked about; refilled as it is used up. */
export type Pool = {
  readonly live: LiveHost
  /** Counts up, so that names are new. */
  next(): number
  readonly judged: string
  readonly ended: string
  readonly other: string
  readonly artifactId: string
  /** A run that wrote an entry of memory. */
  readonly noted: string
}

export async function fillPool(live: LiveHost): Promise<Pool> {
  let count = 0
  const judged = await live.start('alice', 'weather', { task: 'Write about snow.' })
  const ended = await live.start('alice', 'hello')
  const other = await live.start('alice', 'hello', { name: 'x' })
  await live.until('alice', judged, isOver)
  const log = await live.call('alice', `/v1/runs/${judged}/events?streamMode=debug`, { headers: JSON_ONLY })
  const artifactId = /art-\d+/.exec(log.text)?.[0] ?? 'art-0'
  await live.call('alice', '/v1/workflows', post(NOTES))
  await live.call('alice', `${FILES}/kept.md`, { method: 'PUT', body: { content: 'kept' } })
  // It sees the file, because it begins later.
  return { live, next: () => ++count, judged, ended, other, artifactId, noted: await noting(live) }
}

const FILES = '/v1/host/workspace/files'
const MEMORY = '/v1/host/assay/memory'
const NOTE = { memoryRef: 'notes', memoryId: 'ann', content: 'Ann likes snow.', tags: ['friends'] }
const NOTES = workflow('notes', [node('n', 'core.memoryPut', { config: NOTE })])
/** What a run writes without a scope of somebody else's is in one of its own. */
const noteOf = (runId: string) => `ref=notes&scope=run:${runId}`
const noting = async (live: LiveHost): Promise<string> => {
  const runId = await live.start('alice', 'notes')
  await live.until('alice', runId, isOver)
  return runId
}

const SCHEDULES = '/v1/host/assay/schedules'
const YEARLY = [{ id: 'yearly', type: 'schedule', config: { cron: '0 0 1 1 *' } }]
/** The schedule of a workflow that runs once a year. */
const scheduling = async ({ live, next }: Pool): Promise<string> => {
  const id = `s${next() % 20}`
  const yearly = workflow(id, [node('n', 'core.noop')], { triggers: YEARLY })
  await live.call('alice', `/v1/workflows/${id}`, { method: 'PUT', body: yearly })
  const { json } = await live.call('alice', `${SCHEDULES}?limit=200`)
  return json.schedules.find((one: { workflowId: string }) => one.workflowId === id).scheduleId
}

/** Each in its turn. */
const oneOf = <T>(pool: Pool, ways: readonly T[]): T => ways[pool.next() % ways.length] as T
const RAW: Ask = { bytes: Buffer.from([0, 1, 255]), headers: { 'content-type': 'image/png' } }
const FORM: Ask = {
  method: 'POST',
  bytes: [
    '--XX\r\nContent-Disposition: form-data; name="run"\r\n\r\n{"workflowId":"hello"}\r\n',
    '--XX\r\nContent-Disposition: form-data; name="name"; filename="a.txt"\r\n\r\nann\r\n--XX--\r\n',
  ].join(''),
  headers: { 'content-type': 'multipart/form-data; boundary=XX' },
}

const JSON_ONLY = { accept: 'application/json' }
const post = (body: object): Ask => ({ method: 'POST', body })

const intent = (intent_id: string) => ({ intent_id, type: 'operational', title: 'True', statement: 'It is so.' })
const entry = (entry_id: string) => ({ entry_id, title: 'Known', text: 'It is known.' })
const gateFor = (gate_id: string) => ({ ...at(4), gate_id })

const asking = (pool: Pool) => pool.live.start('alice', 'asks')
const waiting = (pool: Pool) => pool.live.start('alice', 'waits')
const linkTo = async (pool: Pool, intent: 'resolve' | 'inspect') => {
  const runId = await asking(pool)
  const url = `/v1/runs/${runId}/interrupts/gate:link`
  return (await pool.live.call('alice', url, post({ intent }))).json.token as string
}
const registered = async (pool: Pool, url: string, body: object) => {
  await pool.live.call('alice', url, post(body))
}
const webhookOf = async ({ live }: Pool) => {
  const listed = (await live.call('alice', '/v1/webhooks')).json.webhooks as { webhookId: string }[]
  if (listed[0] !== undefined) return listed[0].webhookId
  return (await live.call('alice', '/v1/webhooks', post(WEBHOOK))).json.webhookId as string
}
const WEBHOOK = { url: 'https://receiver.example/hook', events: ['assay.nothing'] }

export const GOOD: { readonly [operation: string]: (pool: Pool) => Good | Promise<Good> } = {
  discover: () => ({ url: '/.well-known/openwop', who: null }),
  describe: () => ({ url: '/v1/openapi.json', who: null }),
  health: () => ({ url: '/healthz', who: null }),
  live: () => ({ url: '/live', who: null }),
  ready: () => ({ url: '/ready', who: null }),
  listWorkflows: () => ({ url: '/v1/workflows' }),
  getWorkflow: () => ({ url: '/v1/workflows/hello' }),
  registerWorkflow: p => ({ url: '/v1/workflows', ask: post(workflow(`w${p.next() % 50}`, [node('n', 'core.noop')])) }),
  replaceWorkflow: p => {
    const id = `w${p.next() % 50}`
    return { url: `/v1/workflows/${id}`, ask: { method: 'PUT', body: workflow(id, [node('n', 'core.noop')]) } }
  },
  validateWorkflow: () => ({ url: '/v1/workflows:validate', ask: post(workflow('w', [node('n', 'core.noop')])) }),
  ...GOAL_OPERATIONS,
  ...COMMITMENT_OPERATIONS,
  async listSchedules(p) {
    await scheduling(p)
    return { url: `${SCHEDULES}?limit=2` }
  },
  getSchedule: async p => ({ url: `${SCHEDULES}/${await scheduling(p)}` }),
  pauseSchedule: async p => ({ url: `${SCHEDULES}/${await scheduling(p)}:pause`, ask: post({}) }),
  resumeSchedule: async p => ({ url: `${SCHEDULES}/${await scheduling(p)}:resume`, ask: post({}) }),
  runSchedule: async p => ({ url: `${SCHEDULES}/${await scheduling(p)}:run`, ask: post({}) }),
  listMemory: p => ({
    url: `${MEMORY}?${oneOf(p, [`${noteOf(p.noted)}&q=snow`, `${noteOf(p.noted)}&tag=friends`, `at=${p.noted}:end`, `at=${p.noted}:2&q=snow`])}`,
  }),
  listMemoryScopes: () => ({ url: `${MEMORY}/scopes` }),
  getMemory: p => ({ url: `${MEMORY}/entries/ann?${oneOf(p, [noteOf(p.noted), `ref=notes&at=${p.noted}:end`])}` }),
  async forgetMemory(p) {
    return { url: `${MEMORY}/entries/ann?${noteOf(await noting(p.live))}`, ask: { method: 'DELETE' } }
  },
  consolidateMemory: p => ({
    url: `${MEMORY}:consolidate`,
    ask: post({ scope: `run:${p.noted}`, memoryRef: 'notes' }),
  }),
  readStream: () => ({ url: '/v1/host/assay/stream' }),
  listFiles: p => ({ url: `${FILES}${oneOf(p, ['', '?prefix=k', `?at=${p.noted}:end`, '?limit=1'])}` }),
  getFile: p => ({ url: `${FILES}/kept.md${oneOf(p, ['', '?version=1', '?raw=1', `?at=${p.noted}:end`])}` }),
  putFile: p => ({
    url: `${FILES}/f${p.next() % 50}.md`,
    ask: { method: 'PUT', ...oneOf<Ask>(p, [{ body: { content: 'x', contentType: 'text/plain' } }, RAW]) },
  }),
  async removeFile(p) {
    const url = `${FILES}/r${p.next()}.md`
    await p.live.call('alice', url, { method: 'PUT', body: { content: 'x' } })
    return { url, ask: { method: 'DELETE' } }
  },
  listGates: () => ({ url: '/v1/host/assay/gates' }),
  getGate: () => ({ url: '/v1/host/assay/gates/weather-gate' }),
  registerGate: () => ({ url: '/v1/host/assay/gates', ask: post(gateFor('weather-gate')) }),
  async removeGate(p) {
    const id = `g${p.next()}`
    await registered(p, '/v1/host/assay/gates', gateFor(id))
    return { url: `/v1/host/assay/gates/${id}`, ask: { method: 'DELETE' } }
  },
  listIntents: () => ({ url: '/v1/host/assay/intents' }),
  getIntent: () => ({ url: '/v1/host/assay/intents/true-weather' }),
  registerIntent: p => ({ url: '/v1/host/assay/intents', ask: post(intent(`i${p.next() % 20}`)) }),
  async removeIntent(p) {
    const id = `j${p.next()}`
    await registered(p, '/v1/host/assay/intents', intent(id))
    return { url: `/v1/host/assay/intents/${id}`, ask: { method: 'DELETE' } }
  },
  listKnowledge: () => ({ url: '/v1/host/assay/knowledge' }),
  async getKnowledge(p) {
    await registered(p, '/v1/host/assay/knowledge', entry('known'))
    return { url: '/v1/host/assay/knowledge/known' }
  },
  registerKnowledge: p => ({ url: '/v1/host/assay/knowledge', ask: post(entry(`k${p.next() % 20}`)) }),
  async removeKnowledge(p) {
    const id = `l${p.next()}`
    await registered(p, '/v1/host/assay/knowledge', entry(id))
    return { url: `/v1/host/assay/knowledge/${id}`, ask: { method: 'DELETE' } }
  },
  getCalibration: () => ({ url: '/v1/host/assay/gates/weather-gate/calibration' }),
  listVerdicts: () => ({ url: '/v1/host/assay/gates/weather-gate/verdicts' }),
  listAgents: () => ({ url: '/v1/agents' }),
  getAgent: () => ({ url: '/v1/agents/local.weather.writer' }),
  listTools: () => ({ url: '/v1/tools' }),
  getTool: () => ({ url: '/v1/tools/assay:http.get' }),
  createRun: p => ({
    url: '/v1/runs',
    ask: oneOf<Ask>(p, [
      post({ workflowId: 'hello', inputs: { name: `n${p.next()}` }, tags: ['t'] }),
      post({ workflowId: 'notes', scopeId: `team ${p.next() % 5}` }),
      FORM,
    ]),
  }),
  listRuns: () => ({ url: '/v1/runs?limit=5&status=completed' }),
  getRun: p => ({ url: `/v1/runs/${p.judged}` }),
  getRunAncestry: p => ({ url: `/v1/runs/${p.judged}/ancestry` }),
  getRunReceipt: p => ({ url: `/v1/runs/${p.judged}/receipt` }),
  chat: () => ({
    url: '/v1/host/assay/chat',
    ask: post({ message: '@local.weather.silent hello', conversationId: 'c' }),
  }),
  cancelRun: async p => ({ url: `/v1/runs/${await waiting(p)}/cancel`, ask: post({ reason: 'enough' }) }),
  cancelRunAlias: async p => ({ url: `/v1/runs/${await waiting(p)}:cancel`, ask: post({}) }),
  bulkCancelRuns: async p => ({ url: '/v1/runs:bulk-cancel', ask: post({ runIds: [await waiting(p)] }) }),
  pauseRun: async p => ({ url: `/v1/runs/${await waiting(p)}:pause`, ask: post({}) }),
  async resumeRun(p) {
    const runId = await waiting(p)
    await p.live.call('alice', `/v1/runs/${runId}:pause`, post({ drainPolicy: 'immediate' }))
    return { url: `/v1/runs/${runId}:resume`, ask: post({}) }
  },
  forkRun: p => ({ url: `/v1/runs/${p.ended}:fork`, ask: post({ mode: 'replay' }) }),
  streamRunEvents: p => ({ url: `/v1/runs/${p.ended}/events?streamMode=updates` }),
  pollRunEvents: p => ({ url: `/v1/runs/${p.ended}/events/poll?timeout=1` }),
  listInterrupts: () => ({ url: '/v1/interrupts?limit=5' }),
  resolveInterrupt: async p => ({
    url: `/v1/runs/${await asking(p)}/interrupts/gate`,
    ask: post({ resumeValue: { action: 'accept' } }),
  }),
  linkInterrupt: async p => ({ url: `/v1/runs/${await asking(p)}/interrupts/gate:link`, ask: post({}) }),
  inspectInterruptByToken: async p => ({ url: `/v1/interrupts/${await linkTo(p, 'inspect')}`, who: null }),
  resolveInterruptByToken: async p => ({
    url: `/v1/interrupts/${await linkTo(p, 'resolve')}`,
    ask: post({ resumeValue: { action: 'accept' } }),
    who: null,
  }),
  diffRuns: p => ({ url: `/v1/runs/${p.ended}:diff?against=${p.other}` }),
  compareRuns: p => ({ url: `/v1/host/assay/runs/${p.ended}/comparison?against=${p.other}` }),
  getDebugBundle: p => ({ url: `/v1/runs/${p.judged}/debug-bundle` }),
  getArtifact: p => ({ url: `/v1/runs/${p.judged}/artifacts/${p.artifactId}` }),
  listVerifications: p => ({ url: `/v1/runs/${p.judged}/verifications` }),
  getVerification: p => ({ url: `/v1/runs/${p.judged}/verifications/1` }),
  listWithheld: p => ({ url: `/v1/runs/${p.judged}/withheld` }),
  getQuotas: () => ({ url: '/v1/quotas' }),
  getOwnKey: () => ({ url: '/v1/host/assay/key' }),
  listKeys: () => ({ url: '/v1/keys' }),
  createKey: () => ({ url: '/v1/keys', ask: post({ scopes: ['runs:read'] }) }),
  async revokeKey({ live }) {
    const { keyId } = (await live.call('alice', '/v1/keys', post({ scopes: ['runs:read'] }))).json
    return { url: `/v1/keys/${keyId}`, ask: { method: 'DELETE' } }
  },
  getTenant: () => ({ url: '/v1/host/assay/tenants/acme', who: 'admin' }),
  async eraseTenant(p) {
    const tenant = `gone-${p.next()}`
    await p.live.call('admin', '/v1/keys', post({ tenant, scopes: ['runs:read'] }))
    return { url: `/v1/host/assay/tenants/${tenant}/erase`, ask: post({ tenant }), who: 'admin' }
  },
  listWebhooks: () => ({ url: '/v1/webhooks' }),
  async registerWebhook({ live }) {
    const listed = (await live.call('alice', '/v1/webhooks')).json.webhooks as { webhookId: string }[]
    for (const { webhookId } of listed.slice(50))
      await live.call('alice', `/v1/webhooks/${webhookId}`, { method: 'DELETE' })
    return { url: '/v1/webhooks', ask: post(WEBHOOK) }
  },
  async removeWebhook({ live }) {
    const { webhookId } = (await live.call('alice', '/v1/webhooks', post(WEBHOOK))).json
    return { url: `/v1/webhooks/${webhookId}`, ask: { method: 'DELETE' } }
  },
  listDeliveries: async p => ({ url: `/v1/webhooks/${await webhookOf(p)}/deliveries` }),
  listPublicKeys: () => ({ url: '/v1/audit/keys' }),
  listAuditTrail: () => ({ url: '/v1/host/assay/audit?limit=3' }),
  listToolServers: () => ({ url: '/v1/host/assay/tool-servers', who: 'admin' }),
  readTranscript: p => ({ url: `/v1/runs/${p.judged}/transcript` }),
  async retryRun(p) {
    const runId = await asking(p)
    const answer = post({ resumeValue: { action: 'reject' } })
    await p.live.call('alice', `/v1/runs/${runId}/interrupts/gate`, answer)
    await p.live.until('alice', runId, isOver)
    return { url: `/v1/runs/${runId}:retry`, ask: post({}) }
  },
  verifyAudit: () => ({ url: '/v1/audit/verify?fromSeq=0&toSeq=0' }),
}
