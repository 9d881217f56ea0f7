import { afterEach, describe, expect, test } from 'vitest'
import type { McpServer } from '../../../src/agents/settings.js'
import { type HttpMcpServer, startHttpServer } from '../../support/mcp-server.js'
import { type Rig, type RigOptions, TRACEPARENT, toolRig, until } from './rig.js'

let server: HttpMcpServer
let rig: Rig

async function start(options: RigOptions = {}, headers: Extract<McpServer, { kind: 'http' }>['headers'] = {}) {
  server = await startHttpServer(Object.keys(headers).length > 0 ? 'Bearer swordfish-1234567' : undefined)
  rig = await toolRig({ mcp: { web: { kind: 'http', url: server.url, headers } }, ...options })
}

afterEach(async () => {
  await rig.close()
  await server.stop()
})

describe('tools of an MCP server over streamable HTTP', () => {
  test('R-XHOST-8 R-EFFECT-5: are listed and called through the egress client, under the effect id and a trace', async () => {
    await start()
    expect(await rig.ids(['mcp:web.echo', 'mcp:web.Echo', 'mcp:web.toString'])).toEqual([
      'mcp:web.echo',
      'mcp:web.toString',
    ])
    const { told, contents } = await rig.use('mcp:web.echo', { text: 'hello' }, { id: 'effect-x' })
    expect([told.status, contents.text]).toEqual(['ok', 'hello'])
    const traceparent = TRACEPARENT
    expect(server.calls).toEqual([
      {
        name: 'echo',
        args: { text: 'hello' },
        meta: { 'assay/effectId': 'effect-x', traceparent },
        headers: expect.objectContaining({ 'idempotency-key': 'effect-x', traceparent }),
      },
    ])
  })

  test('secrets are put into headers at each request and never come back', async () => {
    const secrets: { [name: string]: string } = { KEY: 'Bearer swordfish-1234567' }
    await start({ secrets }, { authorization: { env: 'KEY' } })
    expect((await rig.use('mcp:web.echo', { text: 'Bearer swordfish-1234567' })).contents.text).not.toMatch(/swordfish/)
    secrets.KEY = 'Bearer changed-1234567'
    expect((await rig.use('mcp:web.echo', { text: 'x' })).told.code).toBe('tool_unavailable')
    delete secrets.KEY
    expect((await rig.use('mcp:web.echo', { text: 'x' })).told.code).toBe('tool_unavailable')
    expect(server.calls).toHaveLength(1)
    expect(rig.logged()).not.toMatch(/swordfish|changed/)
  })

  test('a changed list is read again when the server says so', async () => {
    await start()
    expect(await rig.ids(['mcp:web.grown'])).toEqual([])
    // The notice comes over the listening connection, which is opened beside the first requests.
    await until(async () => {
      await rig.use('mcp:web.grow')
      return (await rig.ids(['mcp:web.grown'])).length === 1
    })
  })

  test('F9: a server that was started anew has forgotten the connection; the call is made over another', async () => {
    await start()
    expect((await rig.use('mcp:web.echo', { text: 'one' })).contents.text).toBe('one')
    await server.stop()
    expect((await rig.use('mcp:web.echo', { text: 'two' })).told).toMatchObject({
      status: 'error',
      code: 'tool_unavailable',
    })
    await server.start()
    expect((await rig.use('mcp:web.echo', { text: 'three' })).contents.text).toBe('three')
    expect(server.calls.map(({ args }) => args.text)).toEqual(['one', 'three'])
  })

  test('F9: a tool that never returns runs into its deadline, and its connection is closed', async () => {
    await start({ settings: { rules: { 'mcp:web.hang': { timeoutMs: 300 } } } })
    await rig.ids(['mcp:web.hang'])
    expect((await rig.use('mcp:web.hang')).told.code).toBe('tool_timeout')
    await until(() => server.abandoned() === 1)
    expect((await rig.use('mcp:web.echo', { text: 'still here' })).contents.text).toBe('still here')
  })

  test('a call that is taken back closes its connection', async () => {
    await start()
    const controller = new AbortController()
    const used = rig.use('mcp:web.hang', {}, { signal: controller.signal })
    await until(() => server.calls.length === 1)
    controller.abort()
    expect((await used).told.code).toBe('tool_cancelled')
    await until(() => server.abandoned() === 1)
  })

  test('closing says goodbye', async () => {
    await start()
    await rig.use('mcp:web.echo', { text: 'x' })
    expect(server.sessions()).toBe(1)
    await rig.tools.close()
    expect(server.sessions()).toBe(0)
  })

  test.each([
    ['cut', 'tool_connection_lost'],
    ['quiet', 'tool_connection_lost'],
    ['torrent', 'tool_result_too_large'],
    ['large', 'tool_result_too_large'],
    ['error', 'tool_failed'],
    ['redirect', 'tool_failed'],
    ['garbage', 'tool_result_invalid'],
    ['bomb', 'tool_result_invalid'],
  ])('E17 F9: an answer that is %s ends the call with %s, and the server can be called again', async (fault, code) => {
    await start()
    const { told, contents } = await rig.use(`mcp:web.${fault}`)
    expect(told).toMatchObject({ status: 'error', code })
    expect(contents.isError).toBe(true)
    expect(server.calls.map(({ name }) => name)).toEqual([fault])
    expect((await rig.use('mcp:web.echo', { text: 'next' })).contents.text).toBe('next')
  })

  test('a large result is cut at the cap', async () => {
    await start()
    const { contents } = await rig.use('mcp:web.huge', { bytes: 500_000 })
    expect(Buffer.byteLength(contents.text)).toBe(4_096)
    expect(contents.text).toMatch(/\[cut: /)
  })

  test('a server that cannot be reached is a problem; its tools are not there', async () => {
    await start()
    await server.stop()
    expect(await rig.ids(['mcp:web.echo'])).toEqual([])
    expect((await rig.use('mcp:web.echo', { text: 'x' })).told.code).toBe('tool_unavailable')
    expect(rig.tools.problems()).toHaveLength(1)
    expect(rig.tools.problems()[0]).toMatch(/^the tool server "web" cannot be used: /)
    expect(rig.tools.problems()[0]).not.toMatch(/127\.0\.0\.1/)
  })
})
