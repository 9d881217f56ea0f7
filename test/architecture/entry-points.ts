import fs from 'node:fs'
import path from 'node:path'
import type { Source } from './source.js'

/** What others can import: the entry points of package.json, as their sources say it. */

const repository = path.resolve(import.meta.dirname, '../..')

export type EntryPoint = { readonly name: string; readonly file: string }

/** `assay/client` → `client/index.ts`, for every module that package.json exports. */
export function entryPoints(): EntryPoint[] {
  const { name, exports } = JSON.parse(fs.readFileSync(path.join(repository, 'package.json'), 'utf8'))
  return Object.entries<{ default?: string }>(exports).flatMap(([place, { default: file }]) =>
    file === undefined
      ? []
      : [{ name: path.posix.join(name, place), file: file.replace('./dist/', '').replace(/\.js$/, '.ts') }],
  )
}

export type PublicName = {
  readonly name: string
  readonly own: string
  readonly module: string
  readonly isType: boolean
}

const EXPORTS = /^export (type )?\{([^}]*)\} from '([^']+)'$/gm

/** The names that an entry point hands on. Throws when there is anything else in it. */
export function publicNames({ file, text }: Pick<Source, 'file' | 'text'>): PublicName[] {
  const rest = text.replace(EXPORTS, '').trim()
  if (rest !== '') throw new Error(`src/${file} has more in it than names that it hands on: ${rest}`)
  return [...text.matchAll(EXPORTS)].flatMap(([, typeOnly, names = '', from = '']) =>
    names
      .split(',')
      .map(each => each.trim())
      .filter(each => each !== '')
      .map(each => {
        const [own = '', name = own] = each.replace(/^type /, '').split(' as ')
        const module = path.posix.join(path.posix.dirname(file), from).replace(/\.js$/, '')
        return { name, own, module, isType: typeOnly !== undefined || each.startsWith('type ') }
      }),
  )
}

export type Declared = { readonly documented: boolean; readonly members: readonly Member[] }
export type Member = { readonly name: string; readonly documented: boolean }

/** What the declaration of a name says, as it is packed: whether it is explained, and what it consists of. */
export function declared({ own, module }: PublicName): Declared {
  const text = fs.readFileSync(path.join(repository, 'dist', `${module}.d.ts`), 'utf8')
  const found = new RegExp(
    `(\\*/\\n)?export (?:declare )?(?:class|interface|type|const|function) ${own}\\b([^\\n]*)(\\n(?: .*|\\}.*)(?=\\n))*`,
  ).exec(text)
  if (found === null) throw new Error(`${module}.d.ts declares no ${own}`)
  const lines = found[0].split('\n')
  const members = lines.flatMap((line, i) => {
    const [, name] = /^ {4}(?:(?:readonly|get|static|async) )*(\w+)[?(:<]/.exec(line) ?? []
    return name === undefined ? [] : [{ name, documented: lines[i - 1]?.trim().endsWith('*/') ?? false }]
  })
  return { documented: found[1] !== undefined, members: onceEach(members) }
}

const onceEach = (members: readonly Member[]): Member[] => [
  ...new Map(members.map(member => [member.name, member])).values(),
]

/** The whole surface as text: a line per name, with the parts of those that are ours to shape. */
export function surface(sources: readonly Source[]): string {
  const lines = entryPoints().flatMap(({ name, file }) => {
    const source = sources.find(each => each.file === file)
    if (source === undefined) throw new Error(`src/${file} is not there`)
    const names = publicNames(source).sort((a, b) => (a.name < b.name ? -1 : 1))
    return [
      name,
      ...names.map(each => {
        const parts = declared(each).members.map(member => member.name)
        return `  ${each.isType ? 'type ' : ''}${each.name}${parts.length > 0 ? `: ${parts.sort().join(' ')}` : ''}`
      }),
    ]
  })
  return `${lines.join('\n')}\n`
}

/** Everything that a module loads, directly or not, when it is run: own modules, and packages. */
export function loadedBy(entry: string, sources: readonly Source[]): { own: Set<string>; packages: Set<string> } {
  const own = new Set([entry])
  const packages = new Set<string>()
  for (const file of own) {
    for (const { from, typeOnly } of sources.find(source => source.file === file)?.imports ?? []) {
      if (typeOnly) continue
      if (from.startsWith('.')) own.add(path.posix.join(path.posix.dirname(file), from).replace(/\.js$/, '.ts'))
      else packages.add(from)
    }
  }
  return { own, packages }
}
