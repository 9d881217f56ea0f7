import fs from 'node:fs'
import path from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { freePort } from '../support/free-port.js'
import { type Server, startAssay, startServer, temporaryFolder } from './assay-process.js'

let folder: string
let data: string
const servers: Server[] = []
const start = async (...args: Parameters<typeof startServer>) => {
  const server = await startServer(...args)
  servers.push(server)
  return server
}

beforeEach(() => {
  folder = temporaryFolder()
  data = path.join(folder, 'data')
})

afterEach(async () => {
  for (const server of servers.splice(0)) await server.stop('SIGKILL')
  fs.rmSync(folder, { recursive: true })
})

const modeIn = (place: string, name: string) => fs.statSync(path.join(place, name)).mode & 0o777

describe('a server', () => {
  let server: Server
  beforeAll(async () => {
    server = await startServer(path.join(temporaryFolder(), '.assay'))
  })
  afterAll(async () => {
    await server.stop()
    fs.rmSync(path.dirname(server.data), { recursive: true })
  })

  test('the key and the address are for this user only, and the key is never printed', async () => {
    expect([modeIn(server.data, '.'), modeIn(server.data, 'local-key'), modeIn(server.data, 'server.json')]).toEqual([
      0o700, 0o600, 0o600,
    ])
    const key = fs.readFileSync(path.join(server.data, 'local-key'), 'utf8').trim()
    expect(server.running.said()).toContain(path.join(server.data, 'local-key'))
    expect(server.running.said()).not.toContain(key)
  })

  test('the CLI finds server and key by itself from the folder the server was started in', async () => {
    const { code, stdout } = await startAssay(['run', 'hello', '--wait'], { cwd: path.dirname(server.data) }).done
    expect({ code, outputs: JSON.parse(stdout) }).toEqual({ code: 0, outputs: { greeting: 'Hello, world!' } })
  })

  test('a second host on the same data folder is refused, and the first goes on', async () => {
    const { code, stderr } = await startAssay(['serve', '--port', String(await freePort()), '--data', server.data]).done
    expect(code).toBe(2)
    expect(stderr).toMatch(/^error: .* is in use by another Assay host; stop it first/)
    expect((await server.assay('run', 'hello', '--wait')).code).toBe(0)
  })

  test('a taken port is refused with a plain message', async () => {
    const { port } = new URL(server.url)
    const { code, stderr } = await startAssay(['serve', '--port', port, '--data', path.join(folder, 'other')]).done
    expect(code).toBe(2)
    expect(stderr).toBe(
      `error: port: ${port} of 127.0.0.1 is in use by another program; stop that one, or choose another with --port (0 takes any free one)\n`,
    )
  })
})

describe('what keeps the host from starting is said with the setting and what to do, and nothing else', () => {
  const KEY = { ASSAY_API_KEY: 'a-key-of-my-own-choice' }

  /** The whole of what a start says that leads nowhere. */
  async function refusal(args: readonly string[], env: NodeJS.ProcessEnv = {}): Promise<string> {
    const port = String(await freePort())
    const { code, stdout, stderr } = await startAssay(['serve', '--port', port, ...args], { cwd: folder, env }).done
    expect([code, stdout]).toEqual([2, ''])
    return stderr.replaceAll(folder, 'HERE')
  }

  test('a data folder that is a file, is inside one, or can be nowhere: at once, whatever the system says', async () => {
    fs.writeFileSync(path.join(folder, 'file'), '')
    const choose = 'choose another data folder with --data'
    const data = (place: string) => refusal(['--data', place])
    expect(await data(path.join(folder, 'file'))).toBe(
      `error: HERE/file is a file, and the host needs a folder; ${choose}\n`,
    )
    expect(await data(path.join(folder, 'file/x'))).toBe(`error: HERE/file/x would be inside a file; ${choose}\n`)
    expect(await data('/proc/nope/x')).toMatch(/^error: \/proc\/nope cannot be made \(E[A-Z]+\); choose another/)
  })

  test('a database that does not answer', async () => {
    const port = await freePort()
    const url = `postgres://ann:swordfish@127.0.0.1:${port}/runs`
    expect(await refusal(['--data', data, '--database', url])).toBe(
      `error: database: PostgreSQL at 127.0.0.1:${port} does not answer (ECONNREFUSED); start it, or correct --database or ASSAY_DATABASE\n`,
    )
  })

  test('an address that is not this machine’s', async () => {
    expect(await refusal(['--data', data, '--host', '192.0.2.1'], KEY)).toBe(
      'error: host: 192.0.2.1 is no address of this machine (EADDRNOTAVAIL); choose another with --host, such as 127.0.0.1\n',
    )
  })

  test('a tool that cannot be loaded: once, with the line', async () => {
    const tools = path.join(folder, 'shop/tools')
    fs.mkdirSync(tools, { recursive: true })
    fs.mkdirSync(path.join(folder, 'shop/workflows'))
    fs.writeFileSync(path.join(tools, 'open.mjs'), 'export default {\n  run:\n}')
    fs.writeFileSync(path.join(tools, 'throws.mjs'), '\nthrow new TypeError("swordfish")')
    expect(await refusal(['--data', data, '--project', path.join(folder, 'shop')])).toBe(
      [
        "error: tools/open.mjs: it cannot be loaded: Unexpected token '}' (line 3)",
        'error: tools/throws.mjs: it throws TypeError (line 2) while it is loaded; `node throws.mjs` in its folder shows what',
        '',
      ].join('\n'),
    )
  })
})

test('a start says nothing of keys that no configured model needs, and warns of one that is needed', async () => {
  const quiet = await start(data, ['--log-level', 'info'])
  expect(quiet.running.said()).not.toMatch(/KEY|secret/)
  await quiet.stop()
  const needy = await start(data, ['--log-level', 'info', '--models-verifier', 'anthropic:claude-sonnet-4-5'])
  expect(needy.running.said()).toMatch(/there is no secret in the variable ANTHROPIC_API_KEY/)
  expect(needy.running.said()).not.toMatch(/OPENAI|GOOGLE/)
})

test('SIGTERM drains: exit 0, the address withdrawn, the run goes on at the next start', async () => {
  const first = await start(data)
  fs.writeFileSync(
    path.join(folder, 'short.yaml'),
    'nodes:\n  - { id: wait, typeId: core.delay, config: { delayMs: 1500 } }\n',
  )
  await first.assay('workflows', 'put', path.join(folder, 'short.yaml'))
  const { value } = await first.json('run', 'short')
  expect(await first.stop()).toMatchObject({ code: 0 })
  expect(fs.existsSync(path.join(data, 'server.json'))).toBe(false)
  const second = await start(data)
  const { code, stdout } = await second.assay('runs', 'events', value.runId, '--follow')
  expect(code).toBe(0)
  expect(stdout).toMatch(/run\.completed/)
  expect((await second.assay('verify', '--all')).code).toBe(0)
})

test('after SIGKILL a new server takes over, and a follower of the run sees no gap', async () => {
  const port = String(await freePort())
  const first = await start(data, ['--port', port])
  fs.writeFileSync(
    path.join(folder, 'short.yaml'),
    'nodes:\n  - { id: wait, typeId: core.delay, config: { delayMs: 3000 } }\n',
  )
  await first.assay('workflows', 'put', path.join(folder, 'short.yaml'))
  const following = startAssay(['--data', data, 'run', 'short', '--follow'])
  await expect.poll(() => following.said(), { timeout: 30_000 }).toContain('node.started')
  await first.stop('SIGKILL')
  await start(data, ['--port', port])
  const { code, stderr } = await following.done
  expect(code).toBe(0)
  const sequences = [...stderr.matchAll(/Z +(\d+) /g)].map(match => Number(match[1]))
  expect(sequences).toEqual(sequences.map((_, i) => i))
})

test('a second SIGINT stops at once', async () => {
  const server = await start(data)
  server.running.child.kill('SIGINT')
  server.running.child.kill('SIGINT')
  const { code } = await server.running.done
  expect([0, 1]).toContain(code)
})

test('ASSAY_API_KEY is the key, and the CLI uses it', async () => {
  const env = { ASSAY_API_KEY: 'a-key-of-my-own-choice' }
  const server = await start(data, [], env)
  expect(fs.existsSync(path.join(data, 'local-key'))).toBe(false)
  expect((await server.assay('runs', 'list')).stderr).toContain('[unauthenticated]')
  expect((await startAssay(['--url', server.url, 'runs', 'list'], { env }).done).code).toBe(0)
})

test('a project brings its workflows and its settings; a broken one is refused with file names', async () => {
  const project = path.join(folder, 'shop')
  fs.mkdirSync(path.join(project, 'workflows'), { recursive: true })
  fs.writeFileSync(path.join(project, 'assay.config.yaml'), 'limits: { maxRequestBodyBytes: 2048 }\n')
  fs.writeFileSync(path.join(project, 'workflows/order.yaml'), 'nodes:\n  - { id: a, typeId: core.noop }\n')
  const server = await start(data, ['--project', project])
  expect((await server.assay('workflows', 'list')).stdout).toMatch(/^order +project/m)
  expect((await server.assay('run', 'order', '--wait')).code).toBe(0)
  expect((await server.assay('run', 'order', '--allow-unknown', '--input', `x=${'y'.repeat(4000)}`)).stderr).toContain(
    '[payload_too_large]',
  )
  await server.stop()
  fs.writeFileSync(path.join(project, 'workflows/bad.yaml'), 'nodes:\n  - { id: a, typeId: core.nope }\n')
  const { code, stderr } = await startAssay([
    'serve',
    '--port',
    String(await freePort()),
    '--data',
    data,
    '--project',
    project,
  ]).done
  expect(code).toBe(2)
  expect(stderr).toMatch(/error: workflows\/bad\.yaml: .*core\.nope/)
})
