import fs from 'node:fs'
import path from 'node:path'
import { describe, expect, test } from 'vitest'
import { declared, entryPoints, loadedBy, publicNames, surface } from './entry-points.js'
import { readSource, type Source } from './source.js'

const src = path.resolve(import.meta.dirname, '../../src')
const guides = path.resolve(import.meta.dirname, '../../docs/guides')

const product = (fs.readdirSync(src, { recursive: true }) as string[])
  .map(name => name.split(path.sep).join('/'))
  .filter(name => name.endsWith('.ts') && !name.endsWith('.test.ts'))
  .map(name => readSource(name, fs.readFileSync(path.join(src, name), 'utf8')))

const sourceOf = (file: string): Source => product.find(source => source.file === file) as Source

describe('the entry points of the package', () => {
  test('are the only modules named index, have no code of their own, and nothing is built on them', () => {
    const files = entryPoints().map(({ file }) => file)
    expect(files).toEqual(['index.ts', 'client/index.ts', 'testing/index.ts', 'steps/index.ts'])
    // Migrations are listed in a module of that name: a list, and none of the package's names.
    const named = product.map(({ file }) => file).filter(file => /(^|(?<!migrations)\/)index\.ts$/.test(file))
    expect(named.sort()).toEqual([...files].sort())
    for (const file of files) expect(publicNames(sourceOf(file)).length).toBeGreaterThan(1)
    expect(() => publicNames(readSource('index.ts', "export * from './host.js'"))).toThrow('more in it')
    const users = product.filter(source =>
      source.imports.some(({ from }) => {
        const target = path.posix.join(path.posix.dirname(source.file), from)
        return files.includes(target.replace(/\.js$/, '.ts'))
      }),
    )
    expect(users.map(({ file }) => file)).toEqual([])
  })

  test('have the names of the checked-in list, and no others', async () => {
    // To change what is public on purpose: npx vitest run --project system test/architecture/entry-points.test.ts --update
    await expect(surface(product)).toMatchFileSnapshot('./public-api.txt')
  })

  test('every name is explained where it is declared, and so is every part of a class or an interface', () => {
    const silent = entryPoints().flatMap(({ name, file }) =>
      publicNames(sourceOf(file)).flatMap(each => {
        const { documented, members } = declared(each)
        const isShape = each.isType && !PROTOCOLS.includes(each.name)
        const parts = isShape ? [] : members.filter(part => !part.documented && !PLAIN.includes(part.name))
        return [...(documented ? [] : [each.name]), ...parts.map(part => `${each.name}.${part.name}`)].map(
          one => `${name}: ${one}`,
        )
      }),
    )
    expect(silent).toEqual([])
  })

  test('the client loads no part of the server, nothing of Node, and one package', () => {
    const { own, packages } = loadedBy('client/index.ts', product)
    expect([...packages]).toEqual(['eventsource-parser'])
    expect([...own].filter(file => !file.startsWith('client/'))).toEqual([])
    expect(own.size).toBeGreaterThan(3)
    expect([...loadedBy('index.ts', product).packages]).toEqual(expect.arrayContaining(['fastify', 'node:path']))
  })

  test('the test kit needs no package that is not installed with it', () => {
    const { dependencies } = JSON.parse(fs.readFileSync(path.join(src, '../package.json'), 'utf8'))
    const { packages } = loadedBy('testing/index.ts', product)
    const names = [...packages].map(name => /^(?:@[^/]+\/)?[^/]+/.exec(name)?.[0] as string)
    const known = (name: string) => name.startsWith('node:') || Object.hasOwn(dependencies, name)
    // What a project's own tools are is found in its folder.
    expect(names.filter(name => !known(name))).toEqual(['(computed)'])
    expect(names.length).toBeGreaterThan(5)
  })
})

/** Interfaces that programs call or implement: all their parts are explained. */
const PROTOCOLS = ['EmbeddedHost', 'TestHost', 'HostOptions', 'TestHostOptions']
/** Parts whose name says it all. */
const PLAIN = ['constructor', 'name', 'client', 'clock', 'connection', 'status', 'code', 'details', 'problems']

describe('the guide to them', () => {
  const guide = fs.readFileSync(path.join(guides, 'embedding.md'), 'utf8')
  const programs = (fs.readdirSync(path.join(guides, 'embedding'), { recursive: true }) as string[]).filter(name =>
    /\.(ts|yaml)$/.test(name),
  )

  test('has every program, and every file of its project, word for word', () => {
    expect(programs.length).toBeGreaterThan(5)
    const text = (name: string) => fs.readFileSync(path.join(guides, 'embedding', name), 'utf8')
    const block = (name: string) => `\n\`\`\`${path.extname(name).slice(1)}\n${text(name)}\`\`\`\n`
    expect(programs.filter(name => !guide.includes(block(name)))).toEqual([])
  })

  test('has no program that is not run', () => {
    expect([...guide.matchAll(/^```(ts|js|yaml)$/gm)]).toHaveLength(programs.length)
  })
})
