import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { pathToFileURL } from 'node:url'
import { beforeEach, describe, expect, test } from 'vitest'

const repository = path.resolve(import.meta.dirname, '../..')

/** A repository in miniature: a page of the contract, a file of tests, a file of source. */
let folder: string
const write = (name: string, text: string) => {
  fs.mkdirSync(path.dirname(path.join(folder, name)), { recursive: true })
  fs.writeFileSync(path.join(folder, name), text)
}

const script = async (name: string) => import(pathToFileURL(path.join(repository, `scripts/${name}.mjs`)).href)
const { contractProblems } = (await script('contract')) as { contractProblems: (root: string) => string[] }
const { generate } = (await script('generate')) as { generate: (options: { folder: string }) => string[] }

/** Ids that no page of this repository knows must not stand here in one piece. */
const id = (number: number) => `R-MADE-${number}`
const section = (number: number) => `§${number}`

const page = (...rows: string[]) =>
  write(
    'docs/contract/made.md',
    ['| Id | Strength | Requirement | Decided |', '|---|---|---|---|', ...rows.map(row => `| ${row} | Does. | |`)].join(
      '\n',
    ),
  )
const untested = (...rows: string[]) =>
  write(
    'docs/contract/untested.md',
    ['| Id | Why there is no test |', '|---|---|', ...rows.map(row => `| ${row} |`)].join('\n'),
  )

beforeEach(() => {
  folder = fs.mkdtempSync(path.join(os.tmpdir(), 'assay-contract-'))
  write('src/core/workflow/nodes/registry.ts', '')
  write('test/a.test.ts', '')
  return () => fs.rmSync(folder, { recursive: true })
})

const problems = () => contractProblems(folder)

describe('the contract and the tests', () => {
  test('meet: every MUST is tested or listed, and nothing is cited that is not there', () => {
    expect(contractProblems(repository)).toEqual([])
  })

  test('a MUST needs a test; a SHOULD, a MAY and what is not built yet do not', () => {
    page(`${id(1)} | MUST`, `${id(2)} | SHOULD`, `${id(3)} | MAY`, `${id(4)} | MUST · not yet`)
    expect(problems()).toEqual([expect.stringContaining(`${id(1)} (docs/contract/made.md) is a MUST without a test`)])
    write('test/a.test.ts', `test('${id(1)}: does', () => {})`)
    expect(problems()).toEqual([])
    write('test/a.test.ts', `test('${id(1)} ${id(4)}: does', () => {})`)
    expect(problems()).toEqual([expect.stringContaining(`${id(4)} (docs/contract/made.md) is marked “not yet”`)])
  })

  test('a MUST may be listed with a reason, and is taken off the list when it has a test', () => {
    page(`${id(1)} | MUST`, `${id(2)} | MAY`)
    untested(`${id(1)} | Nobody can see it.`)
    expect(problems()).toEqual([])
    untested(`${id(1)} | `, `${id(2)} | It need not be.`, `${id(3)} | It never was.`)
    expect(problems()).toEqual([
      expect.stringContaining(`${id(2)} is listed in docs/contract/untested.md and needs no test`),
      expect.stringContaining(`gives no reason for ${id(1)}`),
      expect.stringContaining(`lists ${id(3)}, which no page`),
      expect.stringContaining(`docs/contract/untested.md: ${id(3)} is on no page`),
    ])
    untested(`${id(1)} | Nobody can see it.`)
    write('test/a.test.ts', `test('${id(1)}: does', () => {})`)
    expect(problems()).toEqual([
      expect.stringContaining(`${id(1)} is listed in docs/contract/untested.md and has a test`),
    ])
  })

  test.each([
    ['in a row of its table', `test.each<[string, () => void]>([['${'R'}-MADE-1: twice', 1]])('%s', () => {})`],
    [
      'in a table that has a name',
      `const ROWS = [['${'R'}-MADE-1: twice']] as const\ntest.each(ROWS)('does %s', () => {})`,
    ],
    ['in the keys of one', `const ROWS = { '${'R'}-MADE-1: a': 1 }\nit.each(Object.entries(ROWS))('%s', () => {})`],
    ['behind a condition', `test.skipIf(a || /[/)]/.test('('))(\`${'R'}-MADE-1: \${a(\`}\`)}\`, () => {})`],
    ['of a group', `describe('${'R'}-MADE-1', () => {})`],
  ])('a title is one %s', (_, text) => {
    page(`${id(1)} | MUST`)
    write('test/a.test.ts', text)
    expect(problems()).toEqual([])
  })

  test.each([
    ['in a comment', `// test('${'R'}-MADE-1: does', () => {})`],
    ['in a text', `const text = "test('${'R'}-MADE-1: does', () => {})"`],
    ['of another function', `run.test('${'R'}-MADE-1: does')`],
  ])('%s it is none', (_, text) => {
    page(`${id(1)} | MUST`)
    write('test/a.test.ts', text)
    expect(problems()).toHaveLength(1)
  })

  test('no title names more than six', () => {
    page(...[1, 2, 3, 4, 5, 6, 7].map(number => `${id(number)} | MAY`))
    const six = [1, 2, 3, 4, 5, 6].map(id).join(' ')
    write('test/a.test.ts', `test('${six}: does', () => {})`)
    expect(problems()).toEqual([])
    write('test/a.test.ts', `test.each([['${id(7)}: does']])('${six}: %s', () => {})`)
    expect(problems()).toEqual([expect.stringContaining('names 7 ids; 6 is the most')])
  })

  test('ids, marks and sections that are cited are on a page, or at the head of a file', () => {
    write('docs/contract/sections.md', '| Section | About |\n|---|---|\n| core §1 | discovery |')
    write(
      'src/a.ts',
      `/**\n *  Z1  Holds.\n *\n * ${id(9)}, core ${section(1)}, agents ${section(1)} Y9, RFC 1 ${section(8)}.\n */`,
    )
    write('test/a.test.ts', `test('Z1 Z2: holds (${section(1)}, ${section(7)})', () => {})`)
    expect(problems()).toEqual([
      expect.stringContaining('names Z2, which is stated nowhere'),
      'src/a.ts: Y9 is stated nowhere: see docs/contract/readings.md',
      `src/a.ts: ${id(9)} is on no page of docs/contract`,
      `src/a.ts: agents ${section(1)} is not listed in docs/contract/sections.md`,
      `test/a.test.ts: ${section(7)} is not listed in docs/contract/sections.md`,
    ])
  })

  test('a row that is none is said', () => {
    page(`${id(1)} | SHALL`, `${id(2)} | MAY`, `${id(2)} | MAY`)
    expect(problems()).toEqual([
      expect.stringContaining(`${id(1)} is “SHALL”, not MUST, SHOULD or MAY`),
      expect.stringContaining(`${id(2)} is said twice`),
    ])
  })
})

test('the page that is generated has one row for each id, with its sentence and its tests', () => {
  page(`${id(1)} | MUST`, `${id(2)} | MAY · not yet`)
  write('src/a.ts', '/**\n *  S2  Holds.\n *  S10 Holds, too.\n */')
  write('test/a.test.ts', `test('S10, S2, ${id(1)}: one', () => {})\ntest('${id(1)}: two', () => {})`)
  generate({ folder })
  const rows = fs.readFileSync(path.join(folder, 'docs/requirements.md'), 'utf8').split('\n')
  expect(rows.filter(row => row.startsWith('| [') || row.startsWith('| S'))).toEqual([
    `| [${id(1)}](contract/made.md) | MUST | Does. | 2: \`test/a.test.ts\` |`,
    `| [${id(2)}](contract/made.md) | MAY, not yet | Does. |  |`,
    '| S2 | `src/a.ts` | 1: `test/a.test.ts` |',
    '| S10 | `src/a.ts` | 1: `test/a.test.ts` |',
  ])
})

test('every link of these pages leads somewhere', () => {
  const docs = path.join(repository, 'docs')
  const pages = [
    'conformance.md',
    'requirements.md',
    ...fs.readdirSync(path.join(docs, 'contract')).map(name => `contract/${name}`),
  ]
  const links = pages.flatMap(page =>
    [...fs.readFileSync(path.join(docs, page), 'utf8').matchAll(/\]\(([^)#]+)(?:#[^)]*)?\)/g)].map(([, to = '']) => ({
      page,
      to,
    })),
  )
  expect(links.length).toBeGreaterThan(100)
  expect(links.filter(({ page, to }) => !fs.existsSync(path.join(docs, path.dirname(page), to)))).toEqual([])
})
