import { mkdtempSync, rmSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { callsIn, stdioServer } from '../../support/mcp-server.js'
import { type Rig, type RigOptions, TRACEPARENT, toolRig, until } from './rig.js'

const folder = mkdtempSync(path.join(os.tmpdir(), 'assay-mcp-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

let journals = 0
function newJournal(): string {
  journals += 1
  return path.join(folder, `journal-${journals}`)
}

/** Servers take their time to start, so tests that leave theirs as it was share one. */
const journal = newJournal()
const rules = {
  'mcp:srv.put': { repeat: 'keyed', scopes: ['files:write'] },
  'mcp:srv.hang': { timeoutMs: 300 },
  'mcp:srv.spin': { timeoutMs: 300 },
} as const
let shared: Rig
beforeAll(async () => {
  shared = await toolRig({ mcp: { srv: stdioServer(journal) }, settings: { rules } })
  await shared.ids(['mcp:srv.echo'])
})
afterAll(() => shared.close())

let own: Rig | undefined
async function ownRig(options: RigOptions = {}): Promise<Rig> {
  own = await toolRig({ mcp: { srv: stdioServer(newJournal()) }, ...options })
  return own
}
afterEach(async () => {
  await own?.close()
  own = undefined
})

const isAlive = (pid: number): boolean => {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}

describe('tools of an MCP server over stdio', () => {
  test('R-TOOL-1 R-TOOL-2: the surface has exactly what the allowlist names; look-alikes are nothing', async () => {
    const wanted = ['mcp:srv.echo', 'mcp:srv.__proto__', 'mcp:srv.constructor', 'mcp:srv.toString', 'mcp:srv.a/b.c']
    expect(await shared.ids(wanted)).toEqual(wanted)
    const lookAlikes = [
      'mcp:srv.Echo',
      'MCP:srv.echo',
      'mcp:srv.echo ',
      ' mcp:srv.echo',
      'mcp:srv.еcho',
      'mcp:srv.echo\u200b',
      'mcp:srv.ech',
      'mcp:srv.*',
      'mcp:srv.',
      'mcp:srv',
      'mcp:*',
      '*',
      'echo',
      '',
      'mcp:srv2.echo',
      'mcp:__proto__.echo',
      '__proto__',
      'constructor',
      'local:__proto__',
      'assay:toString',
      'mcp:srv.hasOwnProperty',
      'mcp:srv.valueOf',
      'mcp:srv.send_emaіl',
      'mcp:srv.has space',
      'mcp:srv.bell\u0007',
      'mcp:srv.unreadable',
    ]
    expect(await shared.ids(lookAlikes)).toEqual([])
    expect(await shared.ids([])).toEqual([])
    expect(await shared.ids(['mcp:srv.echo', 'mcp:srv.echo'])).toEqual(['mcp:srv.echo'])
  })

  test('R-TOOL-2: tools that cannot be told apart or checked are left out, and said to be', async () => {
    await shared.ids(['mcp:srv.echo'])
    const problems = shared.tools.problems()
    expect(problems.filter(problem => /other characters/.test(problem))).toHaveLength(3)
    expect(problems.filter(problem => /"mcp:srv.echo" is listed twice/.test(problem))).toHaveLength(1)
    expect(problems.filter(problem => /"mcp:srv.unreadable" has an input schema/.test(problem))).toHaveLength(1)
    expect(problems).toHaveLength(5)
  })

  test('attack 20: calls of tools that are not there reach no server', async () => {
    const before = callsIn(journal).length
    const faults = ['mcp:srv.send_emaіl', 'mcp:srv.Echo', '__proto__', 'mcp:srv.hasOwnProperty', 'mcp:other.echo']
    for (const toolId of faults) {
      const { told, contents } = await shared.use(toolId)
      expect([toolId, told.status, told.code, contents.isError]).toEqual([toolId, 'error', 'tool_unknown', true])
    }
    expect(callsIn(journal)).toHaveLength(before)
    const { contents } = await shared.use('mcp:srv.__proto__')
    expect(contents).toEqual({ text: '__proto__ was called', isError: false })
    expect(callsIn(journal)).toHaveLength(before + 1)
  })

  test('hints become a safety tier and a repeat policy, and rules win over them', async () => {
    const found = await shared.tools.surface(
      ['mcp:srv.echo', 'mcp:srv.read', 'mcp:srv.put'],
      new AbortController().signal,
    )
    expect(found.map(({ terms, safetyTier, source }) => ({ ...terms, safetyTier, source }))).toEqual([
      { toolId: 'mcp:srv.echo', transport: 'mcp', repeat: 'never', scopes: [], safetyTier: 'write', source: 'mcp' },
      { toolId: 'mcp:srv.read', transport: 'mcp', repeat: 'safe', scopes: [], safetyTier: 'read', source: 'mcp' },
      {
        toolId: 'mcp:srv.put',
        transport: 'mcp',
        repeat: 'keyed',
        scopes: ['files:write'],
        safetyTier: 'write',
        source: 'mcp',
      },
    ])
    expect(found[0]).toMatchObject({ title: 'Echo', description: 'Says it again' })
  })

  test('the effect id and a trace go with the call', async () => {
    const { told, contents } = await shared.use('mcp:srv.echo', { text: 'hello' }, { id: 'effect-x' })
    expect(contents).toEqual({ text: 'hello', isError: false })
    expect(told).toMatchObject({ status: 'ok' })
    expect(told.resultTokens).toBeGreaterThanOrEqual('<UNTRUSTED tool="mcp:srv.echo">hello</UNTRUSTED>'.length)
    expect(callsIn(journal).slice(-1)).toEqual([
      {
        name: 'echo',
        args: { text: 'hello' },
        meta: { 'assay/effectId': 'effect-x', traceparent: TRACEPARENT },
      },
    ])
  })

  test('results of every kind become text; the output schema is held to', async () => {
    expect((await shared.use('mcp:srv.picture')).contents.text).toBe(
      'look\n[image/png, 1234 bytes]\n[binary, 7 bytes]\ninside\n[link to file:///b.txt]',
    )
    expect((await shared.use('mcp:srv.add', { a: 1, b: 2 })).contents).toEqual({ text: '{"sum":3}', isError: false })
    expect((await shared.use('mcp:srv.add', { a: 0, b: 2 })).told.code).toBe('tool_result_invalid')
    const failed = await shared.use('mcp:srv.fail')
    expect([failed.told.status, failed.told.code, failed.contents.text]).toEqual([
      'error',
      'tool_failed',
      'the disk is full',
    ])
    const threw = await shared.use('mcp:srv.throw')
    expect([threw.told.code, threw.contents.isError]).toEqual(['tool_failed', true])
    expect(threw.contents.text).toMatch(/out of cheese/)
    expect((await shared.use('mcp:srv.control')).contents.text).toBe('ab[31mc\nd\tef\ufffdg')
    expect(shared.logged()).not.toMatch(/cheese|disk/)
  })

  test('a changed list is read again, and arguments are checked against the schema of now', async () => {
    const calls = newJournal()
    const rig = await ownRig({ mcp: { srv: stdioServer(calls) } })
    const text = { text: 'x' }
    expect((await rig.use('mcp:srv.echo', text)).told.status).toBe('ok')
    for (const args of [{}, { text: 1 }, 'text', null, [text]]) {
      expect((await rig.use('mcp:srv.echo', args)).told).toMatchObject({
        status: 'error',
        code: 'tool_arguments_invalid',
      })
    }
    expect(await rig.ids(['mcp:srv.grown'])).toEqual([])
    await rig.use('mcp:srv.shrink')
    await rig.use('mcp:srv.grow')
    await until(async () => (await rig.ids(['mcp:srv.grown'])).length === 1)
    expect((await rig.use('mcp:srv.echo', text)).told.code).toBe('tool_arguments_invalid')
    expect((await rig.use('mcp:srv.grown')).contents.text).toBe('grown was called')
    expect(callsIn(calls).map(({ name }) => name)).toEqual(['echo', 'shrink', 'grow', 'grown'])
  })

  test('the server’s environment is PATH, HOME and what was named; secrets come back redacted', async () => {
    const env = { PLAIN: 'plain', TOKEN: { env: 'MY_TOKEN' } }
    const rig = await ownRig({
      mcp: { srv: stdioServer(newJournal(), env) },
      secrets: { MY_TOKEN: 'swordfish-1234567' },
      settings: { maxResultBytes: 16_384 },
    })
    const { contents } = await rig.use('mcp:srv.env')
    const seen = JSON.parse(contents.text)
    expect(Object.keys(seen).sort()).toEqual(['HOME', 'PATH', 'PLAIN', 'TOKEN'])
    expect(seen.PLAIN).toBe('plain')
    expect(seen.TOKEN).toMatch(/^\[REDACTED/)
    expect(rig.logged()).not.toMatch(/swordfish/)
  })

  test('a server whose secret is missing is not started; the problem names the reference', async () => {
    const rig = await ownRig({ mcp: { srv: stdioServer(newJournal(), { TOKEN: { env: 'NO_SUCH' } }) } })
    expect((await rig.use('mcp:srv.echo', { text: 'x' })).told.code).toBe('tool_unavailable')
    expect(rig.tools.problems()).toEqual([
      'the tool server "srv" cannot be used: there is no secret in the variable NO_SUCH',
    ])
  })

  test('what a server prints where it should not is neither taken for a message nor logged', async () => {
    const rig = await ownRig()
    expect((await rig.use('mcp:srv.noise')).contents.text).toBe('quiet now')
    await rig.tools.close()
    expect(rig.logged()).toMatch(/a tool server has ended .*"stderrBytes":26/)
    expect(rig.logged()).not.toMatch(/swordfish|print/)
  })

  test('R-TOOL-9: the end of what it writes to stderr is kept for the operator, fenced and without secrets', async () => {
    const env = { TOKEN: { env: 'MY_TOKEN' } }
    const secrets = { MY_TOKEN: 'the password is swordfish' }
    const rig = await ownRig({ mcp: { srv: stdioServer(newJournal(), env) }, secrets })
    await rig.use('mcp:srv.noise')
    await rig.use('mcp:srv.noise')
    const [server] = await rig.tools.servers(new AbortController().signal)
    expect(server).toMatchObject({ name: 'srv', transport: 'stdio', stderr: { bytes: 52 } })
    expect(server?.stderr?.tail).toMatch(/^<UNTRUSTED tool="mcp:srv">(\[REDACTED:MY_TOKEN\]\n)+<\/UNTRUSTED>$/)
    expect(server).not.toHaveProperty('problem')
  })
})

describe('servers that do not behave', () => {
  test('F9: a server that dies is started again at once, one that goes on dying only after a while', async () => {
    const calls = newJournal()
    const rig = await ownRig({ mcp: { srv: stdioServer(calls) } })
    expect((await rig.use('mcp:srv.die')).told).toMatchObject({ status: 'error', code: 'tool_connection_lost' })
    expect((await rig.use('mcp:srv.echo', { text: 'again' })).contents.text).toBe('again')
    const codes: unknown[] = []
    for (let fault = 0; fault < 4; fault += 1) codes.push((await rig.use('mcp:srv.die')).told.code)
    const [lost, unavailable] = ['tool_connection_lost', 'tool_unavailable']
    expect(codes).toEqual([lost, lost, unavailable, unavailable])
    expect(callsIn(calls).map(({ name }) => name)).toEqual(['die', 'echo', 'die', 'die'])
    expect(rig.tools.problems()).toContain('the tool server "srv" cannot be used: it has ended')
  })

  test('F9: a tool that never returns runs into its deadline; its server lives on', async () => {
    expect((await shared.use('mcp:srv.hang')).told).toMatchObject({ status: 'error', code: 'tool_timeout' })
    expect((await shared.use('mcp:srv.echo', { text: 'still here' })).contents.text).toBe('still here')
    expect(shared.logged()).not.toMatch(/ended/)
  })

  test('a call that is taken back ends at once', async () => {
    const controller = new AbortController()
    const before = callsIn(journal).length
    const used = shared.use('mcp:srv.hang', {}, { signal: controller.signal })
    await until(() => callsIn(journal).length > before)
    controller.abort()
    expect((await used).told.code).toBe('tool_cancelled')
  })

  test('F9: a server that hangs altogether is ended with its group, and the next call has a new one', async () => {
    const rig = await ownRig({ settings: { rules } })
    const helper = Number((await rig.use('mcp:srv.helper')).contents.text)
    expect(isAlive(helper)).toBe(true)
    expect((await rig.use('mcp:srv.spin')).told.code).toBe('tool_timeout')
    await until(() => !isAlive(helper))
    await until(async () => (await rig.use('mcp:srv.echo', { text: 'new' })).contents.text === 'new')
    expect(rig.logged()).toMatch(/it hangs/)
  })

  test('a server that does not answer the handshake is given up', async () => {
    const rig = await ownRig({ mcp: { srv: stdioServer(newJournal(), {}, 'mute') }, settings: { timeoutMs: 400 } })
    expect(await rig.ids(['mcp:srv.echo'])).toEqual([])
    await until(() => rig.tools.problems().length === 1)
    expect(rig.tools.problems()).toEqual(['the tool server "srv" cannot be used: it does not answer'])
  })

  test.each([
    ['that does not exist', { kind: 'stdio', command: '/no/such/program', args: [], env: {} } as const, /ENOENT/],
    ['that is no server', { kind: 'stdio', command: 'true', args: [], env: {} } as const, /no handshake/],
  ])('a program %s is a problem, not a crash', async (_what, srv, problem) => {
    const rig = await ownRig({ mcp: { srv } })
    expect((await rig.use('mcp:srv.echo', { text: 'x' })).told.code).toBe('tool_unavailable')
    expect(rig.tools.problems()).toHaveLength(1)
    expect(rig.tools.problems()[0]).toMatch(problem)
  })

  test('a name that cannot be part of an id is refused', async () => {
    const rig = await ownRig({ mcp: { 'a.b': stdioServer(newJournal()) } })
    expect(await rig.ids(['mcp:a.b.echo'])).toEqual([])
    expect(rig.tools.problems()).toHaveLength(1)
  })

  test('closing ends the server and its helpers, however stubborn', async () => {
    const rig = await ownRig({ mcp: { srv: stdioServer(newJournal(), {}, 'stubborn') } })
    const helper = Number((await rig.use('mcp:srv.helper')).contents.text)
    await rig.tools.close()
    expect(rig.logged()).toMatch(/"signal":"SIGKILL"/)
    await until(() => !isAlive(helper))
    expect((await rig.use('mcp:srv.echo', { text: 'x' })).told.code).toBe('tool_unavailable')
  })
})

describe('E17: results that are too much', () => {
  test('are cut at the cap, with a note', async () => {
    const { told, contents } = await shared.use('mcp:srv.huge', { bytes: 500_000 })
    expect(told.status).toBe('ok')
    expect(Buffer.byteLength(contents.text)).toBe(4_096)
    expect(contents.text).toMatch(/x\n\[cut: the result was longer than the 4096 bytes that are shown\]$/)
  })

  test('JSON that is nested 100,000 levels deep is refused', async () => {
    const { told } = await shared.use('mcp:srv.deep', { levels: 100_000 })
    expect(told).toMatchObject({ status: 'error', code: 'tool_result_invalid' })
    expect((await shared.use('mcp:srv.echo', { text: 'next' })).contents.text).toBe('next')
  })

  test('100 MB in a message, and messages without end, are not held; the server is ended', async () => {
    const rig = await ownRig()
    await rig.use('mcp:srv.echo', { text: 'warm' })
    const faults = [
      ['huge', { bytes: 100_000_000 }],
      ['endless', {}],
      ['flood', { method: 'notifications/message', params: { level: 'info', data: 'x' } }],
      ['flood', { method: 'notifications/tools/list_changed' }],
      ['flood', { id: 1, method: 'ping' }],
      ['flood', { id: 10_000, result: {} }],
    ] as const
    for (const [tool, args] of faults) {
      const before = process.memoryUsage().rss
      const { told, contents } = await rig.use(`mcp:srv.${tool}`, args)
      expect([tool, told.status, told.code]).toEqual([tool, 'error', 'tool_result_too_large'])
      expect(contents.text.length).toBeLessThan(200)
      // Of a flood nothing is held either, but what is thrown away at once makes the heap grow, too.
      if (tool !== 'flood') expect(process.memoryUsage().rss - before).toBeLessThan(32 * 1024 * 1024)
      expect((await rig.use('mcp:srv.echo', { text: 'next' })).contents.text).toBe('next')
    }
  })
})
