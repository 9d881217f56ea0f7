import fs from 'node:fs'
import path from 'node:path'
import { describe, expect, test } from 'vitest'
import { crowdedFolders, namesTwice } from './names.js'
import { check, LAYERS } from './rules.js'
import { readSource, type Source } from './source.js'

const src = path.resolve(import.meta.dirname, '../../src')

const product = (fs.readdirSync(src, { recursive: true }) as string[])
  .map(name => name.split(path.sep).join('/'))
  .filter(name => name.endsWith('.ts') && !name.endsWith('.test.ts'))
  .map(name => readSource(name, fs.readFileSync(path.join(src, name), 'utf8')))

const MEASURES_TIME = /performance\.now|hrtime|monitorEventLoopDelay|Date\.now\(\) -/

const violations = (file: string, text: string): string[] => check([readSource(file, text)]).map(({ rule }) => rule)

describe('the architecture', () => {
  test('holds for every source file', () => {
    expect(product.length).toBeGreaterThan(50)
    const found = check(product).map(({ file, line, rule, found }) => `src/${file}:${line} ${rule}: ${found}`)
    expect(found).toEqual([])
  })

  test('no two modules export the same name', () => {
    expect(namesTwice(product)).toEqual([])
    const one = (file: string) => readSource(file, 'export const same = 1')
    expect(namesTwice([one('wire/a.ts'), one('http/b.ts')])).toEqual(['host: same (wire/a.ts, http/b.ts)'])
    expect(namesTwice([one('store/memory/a.ts'), one('store/sqlite/a.ts')])).toEqual([])
    expect(namesTwice([one('store/memory/a.ts'), one('store/memory/b.ts')])).toHaveLength(1)
  })

  test('no folder holds more files than one idea has, and no file more than 400 lines', () => {
    expect(crowdedFolders(product.map(({ file }) => file))).toEqual([])
    expect(crowdedFolders(Array.from({ length: 28 }, (_, i) => `core/run/${i}.ts`))).toEqual(['core/run/: 28 files'])
    expect(product.filter(({ text }) => text.split('\n').length > 401).map(({ file }) => file)).toEqual([])
  })

  test('every file that the glossary and the design pages name is there', () => {
    const docs = path.resolve(import.meta.dirname, '../../docs')
    const pages = ['glossary.md', ...fs.readdirSync(path.join(docs, 'design')).map(name => `design/${name}`)]
    const named = pages.flatMap(page =>
      [
        ...fs
          .readFileSync(path.join(docs, page), 'utf8')
          .matchAll(/`((?:src|test|docs)?\/?[\w./-]+\/[\w.-]+\.(?:ts|md))`/g),
      ].map(([, file = '']) => ({ page, file })),
    )
    expect(named.length).toBeGreaterThan(100)
    const isThere = (file: string) =>
      [src, path.join(src, 'core'), path.dirname(src)].some(folder => fs.existsSync(path.join(folder, file)))
    expect(named.filter(({ file }) => !isThere(file))).toEqual([])
  })

  test('no test measures time: a busy machine is not a mistake', () => {
    const measured = [src, path.resolve(import.meta.dirname, '..')].flatMap(folder =>
      (fs.readdirSync(folder, { recursive: true }) as string[])
        .filter(name => name.endsWith('.test.ts') && !name.includes('architecture'))
        .filter(name => MEASURES_TIME.test(fs.readFileSync(path.join(folder, name), 'utf8'))),
    )
    expect(measured).toEqual([])
    expect('expect(performance.now() - before).toBeLessThan(250)').toMatch(MEASURES_TIME)
  })

  test('the scanner sees imports: most files have some, and every own one resolves', () => {
    const own = product.flatMap(source =>
      source.imports.filter(({ from }) => from.startsWith('.')).map(({ from }) => ({ source, from })),
    )
    expect(own.length).toBeGreaterThan(product.length)
    const dangling = own.filter(({ source, from }) => !fs.existsSync(resolve(source, from)))
    expect(dangling.map(({ source, from }) => `${source.file}: ${from}`)).toEqual([])
  })
})

const resolve = (source: Source, from: string): string =>
  path.join(src, path.dirname(source.file), from.replace(/\.js$/, '.ts'))

describe('each rule catches its violation', () => {
  test.each([
    ['core/a.ts', "import fs from 'node:fs'", 'core/ imports'],
    ['core/a.ts', "import { x } from '../engine/api.js'", 'core/ imports'],
    ['core/a.ts', "import type { x } from '../engine/api.js'", 'core/ imports'],
    ['core/a.ts', "export * from '../store/memory/store.js'", 'core/ imports'],
    ['core/a.ts', "import {\n  type A,\n  b,\n} from 'lodash'", 'core/ imports'],
    ['engine/a.ts', "import { x } from '../store/open-store.js'", 'engine/ imports'],
    ['engine/a.ts', "import { x } from '../wire/run.js'", 'engine/ imports'],
    ['engine/a.ts', "import pg from 'pg'", 'engine/ imports'],
    ['store/a.ts', "import { x } from '../engine/engine.js'", 'store/ imports'],
    ['store/sqlite/a.ts', "import pg from 'pg'", 'store/ imports'],
    ['http/a.ts', "import { x } from '../store/open-store.js'", 'http/ imports'],
    ['http/a.ts', "import { x } from '../engine/engine.js'", 'http/ imports'],
    ['wire/a.ts', "import { x } from '../engine/ports/store.js'", 'wire/ imports'],
    ['wire/a.ts', "import type { x } from '../engine/engine.js'", 'wire/ imports'],
    ['client/a.ts', "import { x } from '../wire/run.js'", 'client/ imports'],
    ['client/a.ts', "import type { x } from '../engine/api.js'", 'client/ imports'],
    ['cli/a.ts', "import { x } from '../engine/api.js'", 'cli/ imports'],
    ['cli/commands/run.ts', "const x = await import('../../host.js')", 'cli/ imports'],
    ['cli/a.ts', 'const x = await import(name)', 'cli/ imports'],
    ['log-check/a.ts', "import { x } from '../core/json.js'", 'log-check/ imports'],
    ['project/a.ts', "import { x } from '../config.js'", 'project/ imports'],
    ['misc/a.ts', 'export {}', 'known layer'],
    ['host2.ts', 'export {}', 'known layer'],
  ])('%s: %s', (file, text, rule) => {
    expect(violations(file, text)).toContain(rule)
  })

  test.each([
    ['http/a.ts', 'const port = process.env.PORT', 'the environment is read in config.ts only'],
    ['host.ts', 'const { env } = process', 'the environment is read in config.ts only'],
    ['host.ts', "process['env']", 'the environment is read in config.ts only'],
    ['engine/a.ts', 'const at = Date.now()', 'the clock and chance are read in system.ts only'],
    ['cli/a.ts', 'const at = new Date()', 'the clock and chance are read in system.ts only'],
    ['http/a.ts', 'const id = Math.random()', 'the clock and chance are read in system.ts only'],
    ['http/a.ts', `const a = \`took \${performance.now()} ms\``, 'the clock and chance are read in system.ts only'],
    ['engine/a.ts', 'const id = randomUUID()', 'chance comes from system.ts, but for keys, nonces and tokens'],
    ['webhooks/a.ts', 'const id = randomBytes(8)', 'chance comes from system.ts, but for keys, nonces and tokens'],
    ['core/a.ts', 'export async function f() {}', 'the core is pure'],
    ['core/a.ts', 'for await (const x of y) f(x)', 'the core is pure'],
    ['core/a.ts', 'const at = new Date()', 'the core is pure'],
    ['core/a.ts', 'setTimeout(f, 1)', 'the core is pure'],
    ['http/a.ts', 'eval(text)', 'no code from text'],
    ['http/a.ts', "const f = new Function('a', text)", 'no code from text'],
    ['http/a.ts', "import vm from 'node:vm'", 'no code from text'],
    ['host.ts', "import net from 'node:net'", 'sockets only in egress, http, peers and client'],
    ['host.ts', "import { request } from 'undici'", 'sockets only in egress, http, peers and client'],
    ['engine/a.ts', 'const r = await fetch(url)', 'sockets only in egress, http, peers and client'],
    ['http/a.ts', 'const r = await fetch(url)', 'requests leave through egress'],
    ['http/a.ts', 'const send = fetch', 'requests leave through egress'],
    ['webhooks/a.ts', 'globalThis.fetch(url)', 'requests leave through egress'],
    ['http/a.ts', "import https from 'node:https'\nhttps.request(url)", 'requests leave through egress'],
    ['http/a.ts', "import http from 'node:http'\nhttp.get(url)", 'requests leave through egress'],
    ['http/a.ts', "import { request } from 'node:http'", 'requests leave through egress'],
    ['http/a.ts', "import {\n  createServer,\n  connect,\n} from 'node:tls'", 'requests leave through egress'],
    ['store/postgres/a.ts', 'net.connect(5432)', 'requests leave through egress'],
    ['engine/a.ts', 'tls.connect({ host })', 'requests leave through egress'],
    ['http/a.ts', 'const s = new WebSocket(url)', 'requests leave through egress'],
    ['http/a.ts', 'const s = new net.Socket()', 'requests leave through egress'],
    ['webhooks/a.ts', "import { createEgress } from '../egress/egress.js'", 'webhooks/ imports'],
    ['egress/a.ts', "import { x } from '../engine/ports/store.js'", 'egress/ imports'],
    ['store/a.ts', 'try { f() } catch {}', 'no error is dropped'],
    ['store/a.ts', 'try { f() } catch (error) { /* why not */ }', 'no error is dropped'],
    ['store/a.ts', 'void f().catch(() => {})', 'no error is dropped'],
    ['store/a.ts', 'void f().catch(() => undefined)', 'no error is dropped'],
    ['store/sqlite/a.ts', "db.get('SELECT 1 FROM runs')", 'statements stand in .sql files'],
    ['store/sqlite/a.ts', 'db.run(`\\n  INSERT INTO runs VALUES (?)`)', 'statements stand in .sql files'],
    ['store/sqlite/writes/a.ts', `db.run(\`\${family} UPDATE runs SET x = 1\`)`, 'statements stand in .sql files'],
    ['store/sqlite/a.ts', `const sql = \`DELETE FROM \${table}\``, 'statements stand in .sql files'],
    ['store/sqlite/a.ts', 'db.exec("CREATE TABLE t (a)")', 'statements stand in .sql files'],
  ])('%s: %s', (file, text, rule) => {
    expect(violations(file, text)).toContain(rule)
  })
})

describe('no rule cries wolf', () => {
  test.each([
    ['core/a.ts', '// Date.now() and await are banned here\nexport const a = 1'],
    ['core/a.ts', "export const message = 'never call eval(x) or Date.now()'"],
    ['core/a.ts', `export const message = \`await \${name} in process.env\``],
    ['core/a.ts', 'export const quote = /[\'"`]/.test(x) // "\nexport const at = (ms: number) => new Date(ms)'],
    ['core/a.ts', "import type { Json } from './json.js'\nimport { RE2JS } from 're2js'"],
    ['http/a.ts', "import type { Store } from '../engine/ports/store.js'\nimport Fastify from 'fastify'"],
    ['wire/a.ts', "import type { RunView } from '../engine/api.js'\nimport { Type } from 'typebox'"],
    ['client/a.ts', "import type { A } from '../wire/run.js'\nconst r = await fetch(url)"],
    [
      'http/a.ts',
      "import type { Socket } from 'node:net'\nimport { STATUS_CODES } from 'node:http'\nhttp.createServer()",
    ],
    ['egress/a.ts', "import https from 'node:https'\nhttps.request(url)"],
    ['webhooks/a.ts', "import type { Egress } from '../egress/egress.js'"],
    ['cli/serving/serve.ts', "const { createHost } = await import('../../host.js')"],
    ['config.ts', 'const env = process.env'],
    ['store/sqlite/a.ts', "// SELECT 1 FROM runs\ndb.exec('BEGIN IMMEDIATE')\ndb.exec('PRAGMA secure_delete = ON')"],
    ['store/sqlite/a.ts', "throw new Error('select another, update it, or delete it from there')"],
    ['store/a.ts', 'try { f() } catch (error) { log.warn({ error }, "kept going") }'],
  ])('%s: %s', (file, text) => {
    expect(violations(file, text)).toEqual([])
  })

  test('every layer is named once', () => {
    const places = LAYERS.map(layer => layer.place)
    expect(new Set(places).size).toBe(places.length)
  })
})
