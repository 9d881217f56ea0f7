import { execFileSync, spawn } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { freePort } from '../support/free-port.js'
import { copyRepository, endGroup, observe, type Running, repository, temporaryFolder, until } from './assay-process.js'

/**
 * The package as others have it: packed by `npm pack` in a clone, unpacked into `node_modules` of a folder that knows
 * nothing of this repository. There is no network here, so its dependencies, and no other package, are links to those
 * installed for this repository.
 */
const guide = path.join(repository, 'docs/guides/embedding')
const manifest = JSON.parse(fs.readFileSync(path.join(repository, 'package.json'), 'utf8'))
const env = { ...process.env, NO_COLOR: '1', npm_config_update_notifier: 'false' }

let folder: string
let tarball: string
let home: string
let files: readonly string[]
const running: Running[] = []

beforeAll(() => {
  folder = temporaryFolder()
  const clone = path.join(folder, 'clone')
  copyRepository(clone)
  fs.symlinkSync(fs.realpathSync(path.join(repository, 'node_modules')), path.join(clone, 'node_modules'))
  execFileSync('npm', ['pack', '--pack-destination', folder], { cwd: clone, env, stdio: 'pipe' })
  tarball = path.join(folder, `assay-${manifest.version}.tgz`)
  files = execFileSync('tar', ['-tzf', tarball], { encoding: 'utf8' })
    .split('\n')
    .filter(name => name !== '')
    .map(name => name.replace('package/', ''))
  home = installed('home', Object.keys(manifest.dependencies))
  fs.cpSync(guide, home, { recursive: true })
}, 300_000)

afterAll(() => {
  for (const each of running) endGroup(each)
  fs.rmSync(folder, { recursive: true })
})

/** A folder with the package and those others in its `node_modules`. */
function installed(name: string, packages: readonly string[]): string {
  const place = path.join(folder, name)
  const modules = path.join(place, 'node_modules')
  fs.mkdirSync(path.join(modules, '.bin'), { recursive: true })
  execFileSync('tar', ['-xzf', tarball, '-C', modules])
  fs.renameSync(path.join(modules, 'package'), path.join(modules, 'assay'))
  fs.symlinkSync('../assay/bin/assay', path.join(modules, '.bin/assay'))
  for (const other of packages) {
    fs.mkdirSync(path.dirname(path.join(modules, other)), { recursive: true })
    fs.symlinkSync(fs.realpathSync(path.join(repository, 'node_modules', other)), path.join(modules, other))
  }
  fs.writeFileSync(path.join(place, 'package.json'), '{ "type": "module" }\n')
  return place
}

const node = (place: string, ...args: string[]) => observe(spawn(process.execPath, args, { cwd: place, env })).done

/** What a program prints as its last line, parsed. */
async function told(place: string, program: string): Promise<unknown> {
  const { code, stdout, stderr } = await node(place, '--input-type=module', '-e', program)
  expect(stderr).toBe('')
  expect(code).toBe(0)
  return JSON.parse(stdout.trim().split('\n').at(-1) as string)
}

const attempt = (name: string) =>
  `const found = await import('${name}').then(m => Object.keys(m).sort(), e => e.code); console.log(JSON.stringify(found))`

test('the package has what its entry points reach, and no tests, sources, maps or notes of a build', () => {
  const strange = /^(src|test|bench|docs|node_modules)\/|\.test\.|\.map$|^dist\/\.|\/testing\/(mutations|stories)\//
  const own = files.filter(name => !name.startsWith('templates/'))
  expect(own.filter(name => strange.test(name))).toEqual([])
  expect(files.length).toBeLessThan(1_500)
  expect(files).toEqual(
    expect.arrayContaining([
      'bin/assay',
      'dist/store/sqlite/writer.js',
      'examples/hello/workflows/hello.yaml',
      'templates/checked-answer/test/answer.test.mjs',
    ]),
  )
  const scripts = files.filter(name => name.endsWith('.js'))
  const texts = scripts.map(name => fs.readFileSync(path.join(home, 'node_modules/assay', name), 'utf8'))
  expect(texts.filter(text => text.includes('sourceMappingURL'))).toEqual([])
})

describe('by name', () => {
  test.each([
    ['assay', ['ConfigError', 'StepError', 'createHost', 'defineStep']],
    ['assay/client', ['AssayClient', 'AssayError']],
    ['assay/testing', ['ManualClock', 'startTestHost']],
    ['assay/steps', ['StepError', 'defineStep', 'defineWorkflow', 'expression', 'output', 'value', 'variable']],
  ])('%s can be imported', async (name, names) => {
    expect(await told(home, attempt(name))).toEqual(names)
  })

  test.each(['assay/dist/host.js', 'assay/dist/client/assay-client.js', 'assay/config', 'assay/client/index.js'])(
    '%s cannot: only entry points are public',
    async name => {
      expect(await told(home, attempt(name))).toBe('ERR_PACKAGE_PATH_NOT_EXPORTED')
    },
  )

  test('assay/client needs no package but the one that reads event streams', async () => {
    const thin = installed('thin', ['eventsource-parser'])
    expect(await told(thin, attempt('assay/client'))).toEqual(['AssayClient', 'AssayError'])
    expect(await told(thin, attempt('assay'))).toBe('ERR_MODULE_NOT_FOUND')
  })
})

/** Wrong on purpose where it says so: types that were not found would be `any`, and no mistake. */
const CONSUMER = `
import { ConfigError, createHost, type EmbeddedHost, type HostOptions, type Json, type Log, type Performer } from 'assay'
import { AssayClient, type Connection, type RunSnapshot, type RunStatus } from 'assay/client'
import { ManualClock, startTestHost, type TestHost, type TestHostOptions } from 'assay/testing'
const options: HostOptions = { port: 0, settings: { 'limits.maxDepth': 3 } }
const host: EmbeddedHost = await createHost(options)
const client = new AssayClient(host.connection satisfies Connection)
const run: RunSnapshot = await client.getRun('r')
const status: RunStatus = run.status
// @ts-expect-error there is no such status
const wrong: RunStatus = 'done'
// @ts-expect-error a port is a number
await createHost({ port: '4100' })
// @ts-expect-error a run is of something
await client.createRun({ workflow: 'hello' })
// @ts-expect-error the engine is nobody's business
host.engine
const kit: TestHost = await startTestHost({ script: [] } satisfies TestHostOptions)
await kit.clock.advance(1)
// @ts-expect-error
kit.clock.advance('1')
export { ConfigError, ManualClock, status, wrong, type Json, type Log, type Performer }
`

describe('in TypeScript', () => {
  const tsc = (config: object, name: string) => {
    const file = path.join(home, `tsconfig.${name}.json`)
    const options = { target: 'es2023', strict: true, exactOptionalPropertyTypes: true, types: ['node'], ...config }
    const sources = ['consumer.ts', 'client.ts', 'desk.ts', 'host.ts', 'testing.ts']
    fs.writeFileSync(file, JSON.stringify({ compilerOptions: options, files: sources }))
    return node(home, path.join(repository, 'node_modules/typescript/bin/tsc'), '-p', file)
  }

  beforeAll(() => {
    fs.writeFileSync(path.join(home, 'consumer.ts'), CONSUMER)
    const types = path.join(home, 'node_modules/@types')
    fs.mkdirSync(types, { recursive: true })
    fs.symlinkSync(fs.realpathSync(path.join(repository, 'node_modules/@types/node')), path.join(types, 'node'))
  })

  test('every type is found by Node’s rules, also those inside the declarations', async () => {
    const config = { module: 'nodenext', skipLibCheck: false, outDir: 'out' }
    expect(await tsc(config, 'node')).toMatchObject({ stdout: '', code: 0 })
  })

  test('every type is found by the rules of bundlers', async () => {
    const config = { module: 'preserve', moduleResolution: 'bundler', skipLibCheck: true, noEmit: true }
    expect(await tsc(config, 'bundler')).toMatchObject({ stdout: '', code: 0 })
  })
})

test('`assay init` of the package makes a project that depends on the tarball, and its tests pass with it', async () => {
  fs.writeFileSync(
    path.join(home, 'package.json'),
    `{ "type": "module", "dependencies": { "assay": "file:../${path.basename(tarball)}" } }`,
  )
  const assay = path.join(home, 'node_modules/assay/bin/assay')
  const made = path.join(folder, 'made')
  expect((await node(home, assay, 'init', 'release-notes', made)).stdout).toBe(`${made} made\n`)
  const { dependencies } = JSON.parse(fs.readFileSync(path.join(made, 'package.json'), 'utf8'))
  expect(dependencies).toEqual({ assay: `file:../${path.basename(tarball)}` })
  expect(fs.existsSync(path.join(made, '.gitignore'))).toBe(true)
  fs.symlinkSync(path.join(home, 'node_modules'), path.join(made, 'node_modules'))
  expect(await node(made, assay, 'check')).toMatchObject({ code: 0, stderr: '' })
  expect(await node(made, '--test')).toMatchObject({ code: 0 })
})

describe('the programs of the guide, compiled', () => {
  test('`npx assay serve` serves, what it says to try can be tried, and the client program talks to it', async () => {
    const port = String(await freePort())
    const serve = spawn('npx', ['--no-install', 'assay', 'serve', '--log-level', 'error'], {
      cwd: home,
      env: { ...env, ASSAY_PORT: port },
      detached: true,
    })
    const server = observe(serve)
    running.push(server)
    const [, url, command] = await until(server, /is serving at (\S+)[\s\S]*try +(.*)\n/)
    expect(command).toBe('npx assay run hello --wait')
    expect(server.said()).toContain(path.join(home, 'node_modules/assay/examples/hello/workflows'))
    const tried = await observe(spawn('sh', ['-c', command as string], { cwd: home, env })).done
    expect(JSON.parse(tried.stdout)).toEqual({ greeting: 'Hello, world!' })
    const { stdout, stderr } = await observe(
      spawn(process.execPath, ['out/client.js'], { cwd: home, env: { ...env, ASSAY_URL: url } }),
    ).done
    expect(stderr).toBe('')
    expect(stdout).toMatch(/^0 run\.started\n[\s\S]*\d+ interrupt\.requested\n[\s\S]*\d+ run\.completed\n/)
    expect(stdout).toContain('completed {"reply":"It ships on Monday."}\nrefused: 404 not_found\n')
    endGroup(server, 'SIGTERM')
    await server.done
    expect(server.said()).toContain('stopping: finishing what is in progress')
  })

  test('the embedded host runs what the project has, and its provider decides', async () => {
    const program = { cwd: home, env: { ...env, ASSAY_PORT: String(await freePort()), ASSAY_DATA: 'embedded-data' } }
    const { code, stdout, stderr } = await observe(spawn(process.execPath, ['out/host.js'], program)).done
    expect(stderr).toBe('')
    expect(code).toBe(0)
    const decided = [...stdout.matchAll(/^decided (.*)$/gm)].map(
      ([, payload]) => JSON.parse(payload as string).decision,
    )
    expect(decided.map(({ kind }) => kind)).toEqual(['next-worker', 'terminate'])
    expect(stdout).toMatch(/\ncompleted \{"queue":"billing"\}\n$/)
    expect(fs.existsSync(path.join(home, 'embedded-data/assay.db'))).toBe(true)
  })

  test('the tests of the project pass', async () => {
    const { code, stdout } = await node(home, '--test', 'out/testing.js')
    expect(stdout).toMatch(/# pass 5\n# fail 0\n/)
    expect(code).toBe(0)
  })
})
