import path from 'node:path'
import { afterEach, describe, expect, test } from 'vitest'
import { AssayClient } from '../../../src/client/assay-client.js'
import { completeDefinition } from '../../../src/project/complete.js'
import { stdioServer } from '../../support/mcp-server.js'
import { closeAll, newFolder, single, startReceiver, startStepHost, told } from './rig.js'

/** Nodes that act without an agent: tools, requests and files. */

afterEach(closeAll)

const TOOLS = {
  'tools/shout.mjs': `export default {
    description: 'Says it louder',
    inputSchema: { type: 'object', properties: { word: { type: 'string' } }, required: ['word'], additionalProperties: false },
    repeat: 'safe',
    run: ({ word }) => ({ loud: word.toUpperCase() }),
  }`,
  'tools/locked.mjs': `export default {
    description: 'Nobody may', inputSchema: { type: 'object' }, scopes: ['moon:land'],
    run: () => { throw new Error('it was called') },
  }`,
  'tools/broken.mjs': `export default {
    description: 'Fails', inputSchema: { type: 'object' }, repeat: 'never',
    run: () => { throw new Error('the password is swordfish') },
  }`,
}
const shouted = { config: { tool: 'local:shout' }, inputs: { word: { type: 'variable', variableName: 'word' } } }
const WORD = [{ name: 'word', type: 'string', defaultValue: 'hey' }]

describe('core.tool', () => {
  test('R-TOOL-6 R-TOOL-3 R-TOOL-7: a tool is called as core.system, told by hash and how long it took, and its result is the output', async () => {
    const { run, findings } = await startStepHost({
      ...TOOLS,
      'workflows/shout.json': single('shout', 'core.tool', shouted, WORD),
    })
    const ended = await run('shout')
    expect(ended).toMatchObject({ status: 'completed', outputs: { done: { result: { loud: 'HEY' } } } })
    expect(told(ended, 'agent.toolCalled').map(({ payload }) => payload)).toEqual([
      {
        agentId: 'core.system',
        toolName: 'local:shout',
        toolId: 'local:shout',
        callId: expect.stringMatching(/^call-\d+$/),
        argsHash: expect.stringMatching(/^[0-9a-f]{64}$/),
        principal: expect.any(String),
        transport: 'native',
      },
    ])
    expect(told(ended, 'agent.toolReturned').map(({ payload }) => payload)).toMatchObject([
      { agentId: 'core.system', status: 'ok', durationMs: expect.any(Number) },
    ])
    expect(await findings()).toEqual([])
  })

  test('R-TOOL-4: without a scope that the tool asks for nothing is called, and the node fails', async () => {
    const { run, findings } = await startStepHost({
      ...TOOLS,
      'workflows/locked.json': single('locked', 'core.tool', { config: { tool: 'local:locked' } }),
    })
    const ended = await run('locked')
    expect(ended).toMatchObject({ status: 'failed', error: { code: 'scope_missing' } })
    const [returned] = told(ended, 'agent.toolReturned')
    expect(returned?.payload).toMatchObject({
      status: 'forbidden',
      error: { code: 'forbidden', details: { scope: 'tool', toolName: 'local:locked', requiredScopes: ['moon:land'] } },
    })
    expect(returned?.payload).not.toHaveProperty('durationMs')
    expect(await findings()).toEqual([])
  })

  test('what a tool says when it fails is not told; that it failed is', async () => {
    const { run } = await startStepHost({
      ...TOOLS,
      'workflows/broken.json': single('broken', 'core.tool', { config: { tool: 'local:broken' } }),
    })
    const ended = await run('broken')
    expect(ended).toMatchObject({ status: 'failed', error: { code: 'effect_failed' } })
    expect(JSON.stringify(ended.events)).not.toContain('swordfish')
  })

  test('R-TOOL-8: what a tool of an MCP server brings is given on, and stands in no payload of its node', async () => {
    const { kind: _, ...srv } = stdioServer(path.join(newFolder(), 'journal'))
    const echo = { config: { tool: 'mcp:srv.echo' }, inputs: { text: { type: 'static', value: 'a-word-of-mine' } } }
    const { run } = await startStepHost({
      'assay.config.json': { tools: { mcp: { srv } } },
      'workflows/echo.json': single('echo', 'core.tool', echo),
    })
    const ended = await run('echo')
    expect(JSON.stringify(ended.outputs)).toContain('a-word-of-mine')
    expect(told(ended, 'agent.toolCalled')[0]?.payload).toMatchObject({ transport: 'mcp', agentId: 'core.system' })
    expect(told(ended, 'node.completed').map(({ payload }) => payload.outputs)).toEqual([{ result: '[REDACTED]' }])
    expect(JSON.stringify(ended.events.filter(({ nodeId }) => nodeId === 'work'))).not.toContain('a-word-of-mine')
  })

  test('arguments that the tool does not take are refused before it is called', async () => {
    const wrong = { config: { tool: 'local:shout' }, inputs: { wurd: { type: 'static', value: 'hey' } } }
    const { run } = await startStepHost({ ...TOOLS, 'workflows/wrong.json': single('wrong', 'core.tool', wrong) })
    const ended = await run('wrong')
    expect(ended.error?.message).toContain('tool_arguments_invalid')
  })

  test('a tool that nothing has keeps the project from being served, with the name that was meant', async () => {
    const misspelt = { ...shouted, config: { tool: 'local:shuot' } }
    const serving = startStepHost({ ...TOOLS, 'workflows/w.json': single('w', 'core.tool', misspelt, WORD) })
    await expect(serving).rejects.toThrow(/config\.tool names "local:shuot".*did you mean local:shout\?/)
  })

  test('a fork calls it again only where it lies after the fork; a replay calls nothing', async () => {
    const counted = {
      'tools/count.mjs': `let n = 0
        export default { description: 'Counts', inputSchema: { type: 'object' }, repeat: 'safe', run: () => ({ n: ++n }) }`,
    }
    const nodes = [
      { id: 'first', typeId: 'core.tool', config: { tool: 'local:count' } },
      { id: 'second', typeId: 'core.tool', config: { tool: 'local:count' } },
    ]
    const edges = [{ sourceNodeId: 'first', targetNodeId: 'second' }]
    const { client, ended } = await startStepHost({ ...counted, 'workflows/two.json': { id: 'two', nodes, edges } })
    const { runId } = await client.createRun({ workflowId: 'two' })
    const source = await ended(runId)
    const resultsOf = (run: typeof source) =>
      run.events.filter(({ type }) => type === 'node.completed').map(({ payload }) => payload.outputs)
    expect(resultsOf(source)).toEqual([{ result: { n: 1 } }, { result: { n: 2 } }])
    const replay = await client.forkRun(runId, { mode: 'replay', fromSeq: 0 })
    expect(resultsOf(await ended(replay.runId))).toEqual(resultsOf(source))
    const fromSeq = source.events.findIndex(({ type, nodeId }) => type === 'node.started' && nodeId === 'second')
    const branch = await client.forkRun(runId, { mode: 'branch', fromSeq })
    expect(resultsOf(await ended(branch.runId)).at(-1)).toEqual({ result: { n: 3 } })
  })
})

const post = (url: string, more: object = {}) => ({
  config: { method: 'POST', url, ...more },
  inputs: { body: { type: 'static', value: { text: 'released' } } },
  settings: { maxRetries: 3, retryDelayMs: 1 },
})

describe('core.http', () => {
  test('sends its body as JSON with an Idempotency-Key, and gives status, type and body', async () => {
    const { url, received } = await startReceiver(() => ({
      status: 201,
      headers: { 'content-type': 'application/json' },
      body: '{"id":7}',
    }))
    const { run, findings } = await startStepHost({
      'workflows/post.json': single('post', 'core.http', post(`${url}/notes`, { headers: { 'x-from': 'assay' } })),
    })
    const ended = await run('post')
    expect(ended).toMatchObject({
      status: 'completed',
      outputs: { done: { status: 201, contentType: 'application/json', body: { id: 7 } } },
    })
    expect(received).toMatchObject([{ method: 'POST', url: '/notes', body: '{"text":"released"}' }])
    expect(received[0]?.headers).toMatchObject({
      'x-from': 'assay',
      'content-type': 'application/json',
      'idempotency-key': expect.stringMatching(/^[\w-]{43}$/),
      traceparent: expect.any(String),
    })
    expect(await findings()).toEqual([])
  })

  test.each([
    ['a server that is overloaded', { status: 503 }],
    ['one that asks for patience', { status: 429 }],
    ['a connection that breaks', undefined],
  ])('after %s the same request is sent again under the same key', async (_what, first) => {
    const { url, received } = await startReceiver((_request, count) => (count === 1 ? first : { status: 204 }))
    const { run } = await startStepHost({ 'workflows/post.json': single('post', 'core.http', post(url)) })
    expect(await run('post')).toMatchObject({ status: 'completed' })
    expect(received).toHaveLength(2)
    expect(new Set(received.map(({ headers }) => headers['idempotency-key'])).size).toBe(1)
  })

  test('what the server refuses is not sent again, and its words are told', async () => {
    const { url, received } = await startReceiver(() => ({ status: 422, body: 'title is missing' }))
    const { run } = await startStepHost({ 'workflows/post.json': single('post', 'core.http', post(url)) })
    expect(await run('post')).toMatchObject({
      status: 'failed',
      error: { code: 'effect_failed', message: 'HTTP 422: title is missing' },
    })
    expect(received).toHaveLength(1)
  })

  test('a request that must not be sent twice is not, when nobody knows what came of it', async () => {
    const { url, received } = await startReceiver(() => undefined)
    const once = post(url, { repeat: 'never' })
    const { run } = await startStepHost({ 'workflows/post.json': single('post', 'core.http', once) })
    expect(await run('post')).toMatchObject({ status: 'failed', error: { code: 'effect_outcome_unknown' } })
    expect(received).toHaveLength(1)
  })

  test('a redirect is not followed', async () => {
    const { url, received } = await startReceiver(() => ({ status: 302, headers: { location: '/elsewhere' } }))
    const { run } = await startStepHost({ 'workflows/post.json': single('post', 'core.http', post(url)) })
    expect(await run('post')).toMatchObject({ status: 'failed' })
    expect(received).toHaveLength(1)
  })

  test('an answer without end is cut, and says so', async () => {
    const { url } = await startReceiver(() => ({
      headers: { 'content-type': 'text/plain' },
      body: 'x'.repeat(400_000),
    }))
    const get = { config: { method: 'GET', url } }
    const { run } = await startStepHost({ 'workflows/get.json': single('get', 'core.http', get) })
    const { outputs } = await run('get')
    expect(outputs).toMatchObject({ done: { truncated: true } })
    expect((outputs.done as { body: string }).body).toHaveLength(262_144)
  })

  test('a private address is refused unless the operator allows it, and nobody is asked', async () => {
    const { url, received } = await startReceiver()
    const files = { 'workflows/post.json': single('post', 'core.http', post(url)) }
    const { run } = await startStepHost(files, { 'steps.allowPrivate': false })
    const { status, error } = await run('post')
    expect(status).toBe('failed')
    expect(error?.message).toContain('steps.allowPrivate')
    expect(received).toEqual([])
  })

  test('R-EVENT-6: a secret of a header is sent and told nowhere, also when the server repeats it', async () => {
    const { url, received } = await startReceiver(({ headers }) => ({
      headers: { 'content-type': 'text/plain' },
      body: `you said ${headers.authorization}`,
    }))
    const secret = post(url, { headers: { authorization: { env: 'NOTES_TOKEN' } } })
    const files = { 'workflows/post.json': single('post', 'core.http', secret) }
    const { run, store } = await startStepHost(files, {}, { NOTES_TOKEN: 'Bearer tok-3f9a8c7d6e' })
    const ended = await run('post')
    expect(ended.status).toBe('completed')
    expect(received[0]?.headers.authorization).toBe('Bearer tok-3f9a8c7d6e')
    expect(JSON.stringify([ended, await store.readEvents(ended.runId, 0)])).not.toContain('tok-3f9a8c7d6e')
  })

  test('a workflow of the API may not name secrets of the operator', async () => {
    const { client } = await startStepHost({})
    const secret = post('https://notes.example.com', { headers: { authorization: { env: 'NOTES_TOKEN' } } })
    const put = client.putWorkflow('post', completeDefinition(single('post', 'core.http', secret), 'post'))
    await expect(put).rejects.toThrow(/files of the project only/)
  })

  test('R-EVENT-6: a branch that sends the secret of a project workflow elsewhere is refused', async () => {
    const { url } = await startReceiver()
    const secret = post(url, { headers: { authorization: { env: 'NOTES_TOKEN' } } })
    const files = { 'workflows/post.json': single('post', 'core.http', secret) }
    const { run, client } = await startStepHost(files, {}, { NOTES_TOKEN: 'Bearer tok-3f9a8c7d6e' })
    const { runId } = await run('post')
    const elsewhere = { 'nodes.work.config.url': 'https://elsewhere.example.com' }
    const fork = client.forkRun(runId, { mode: 'branch', fromSeq: 0, assay: { set: elsewhere } })
    await expect(fork).rejects.toThrow(/files of the project only/)
  })
})

describe('core.file', () => {
  const write = { id: 'write', typeId: 'core.file', config: { action: 'write', path: 'notes/may.md', content: 'sun' } }
  const flow = (...nodes: { id: string; [field: string]: unknown }[]) => ({
    nodes: [
      ...nodes,
      {
        id: 'end',
        typeId: 'core.end',
        inputs: Object.fromEntries(nodes.map(({ id }) => [id, { type: 'expression', expression: `nodes.${id}` }])),
      },
    ],
    edges: nodes.map(({ id }, i) => ({ sourceNodeId: id, targetNodeId: nodes[i + 1]?.id ?? 'end' })),
  })
  const read = (id: string) => ({ id, typeId: 'core.file', config: { action: 'read', path: 'notes/may.md' } })

  test('R-WS-3: what one node writes the next one reads, lists and removes', async () => {
    const list = { id: 'list', typeId: 'core.file', config: { action: 'list', path: 'notes/' } }
    const remove = { id: 'remove', typeId: 'core.file', config: { action: 'remove', path: 'notes/may.md' } }
    const { run, findings } = await startStepHost({
      'workflows/files.json': { id: 'files', ...flow(write, read('first'), list, remove, read('last')) },
    })
    const ended = await run('files')
    expect(ended.error).toBeUndefined()
    expect(ended.outputs).toMatchObject({
      write: { path: 'notes/may.md' },
      first: { found: true, file: { id: 'notes/may.md', content: 'sun' } },
      list: { files: [{ id: 'notes/may.md' }] },
      remove: { path: 'notes/may.md' },
      last: { found: false },
    })
    expect(ended.events.map(({ type }) => type)).toContain('assay.file.written')
    expect(await findings()).toEqual([])
  })

  test('a version that is not there any more fails the node', async () => {
    const late = { id: 'late', typeId: 'core.file', config: { ...write.config, ifMatch: 0 } }
    const { run } = await startStepHost({ 'workflows/files.json': { id: 'files', ...flow(write, late) } })
    expect(await run('files')).toMatchObject({ status: 'failed', error: { code: 'workspace_refused' } })
  })

  test('R-TOOL-4: a key that may not write files does not do so through a workflow', async () => {
    const { client, ended } = await startStepHost({ 'workflows/files.json': { id: 'files', ...flow(write) } })
    const { key } = await client.createKey({
      principal: 'reader',
      scopes: ['runs:create', 'runs:read', 'workspace:read'],
    })
    const narrow = new AssayClient({ ...client.connection, key })
    const { runId } = await narrow.createRun({ workflowId: 'files' })
    expect(await ended(runId)).toMatchObject({ status: 'failed', error: { code: 'scope_missing' } })
  })
})
