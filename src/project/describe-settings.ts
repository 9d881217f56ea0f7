import type { Shape } from '../core/schema/shape.js'
import { mustBe } from '../core/schema/words.js'
import { ConfigSchema } from './config-schema.js'
import { SETTINGS, variableOf } from './settings.js'

/** The tables of `docs/reference/configuration.md`, by the name that stands in its marks. */
export function settingTables(): { readonly [table: string]: string } {
  const { properties = {} } = ConfigSchema as Shape
  const section = (name: string) => nestedRows(properties[name] ?? {}, name)
  return {
    settings: table(
      ['Setting', 'Variable', 'Default', ''],
      Object.entries(SETTINGS).map(([setting, { schema, env, otherwise, inFile }]) => [
        code(setting),
        (env ?? [variableOf(setting)]).map(code).join(', '),
        otherwise ?? shownDefault(schema),
        `${about(schema)}${inFile === false ? '; not in the file' : ''}`,
      ]),
    ),
    models: table(['Setting', 'Default', ''], section('models')),
    prices: table(['Setting', 'Default', ''], section('prices')),
    tools: table(['Setting', 'Default', ''], section('tools')),
    budget: table(['Setting', 'Default', ''], section('budget')),
  }
}

/** The page with the tables as they are now between its marks. */
export const withTables = (page: string, tables: { readonly [table: string]: string }): string =>
  page.replace(/(<!-- table: (\w+) -->\n)[\s\S]*?(<!-- end -->)/g, (all, begin: string, name: string, end: string) =>
    tables[name] ? `${begin}\n${tables[name]}\n\n${end}` : all,
  )

/** Every setting inside that is no setting of its own, by its path; a name of the author's own is NAME. */
function nestedRows(shape: Shape, at: string): string[][] {
  if (SETTINGS[at] !== undefined) return []
  const named = Object.values(shape.patternProperties ?? {}).flatMap(item => nestedRows(item, `${at}.NAME`))
  const inside = Object.entries(shape.properties ?? {}).flatMap(([name, part]) => nestedRows(part, `${at}.${name}`))
  return named.length + inside.length > 0 ? [...named, ...inside] : [[code(at), shownDefault(shape), about(shape)]]
}

const about = (shape: Shape): string => {
  const allowed = shape.type === 'boolean' ? undefined : mustBe(shape)
  const text =
    shape.description === undefined ? (allowed ?? '') : `${shape.description}${allowed ? ` (${allowed})` : ''}`
  return text.replaceAll('|', '\\|')
}

const shownDefault = ({ default: value }: Shape): string =>
  value === undefined ? 'none' : code(JSON.stringify(value).replace(/^"|"$/g, ''))

const code = (text: string): string => `\`${text}\``

const table = (head: readonly string[], rows: readonly (readonly string[])[]): string =>
  [head, head.map(() => '---'), ...rows].map(cells => `| ${cells.join(' | ')} |`).join('\n')
