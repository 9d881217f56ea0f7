import { readFileSync } from 'node:fs'

/**
 * Statements stand in `.sql` files beside the code that runs them, so that they can be read, searched and run by hand:
 *
 *     -- part: run            what several statements share; `{run}` stands for it below
 *     run_id, tenant, status
 *
 *     -- name: readRun
 *     SELECT {run} FROM runs WHERE run_id = ?
 *
 *  1. The file holds exactly the statements that the code names, no more and no fewer.
 *  2. A part is written before whatever uses it; other braces are SQL's own.
 */
export function readStatements<const Name extends string>(
  file: URL,
  names: readonly Name[],
): { readonly [name in Name]: string } {
  const statements = parseStatements(readSql(file), file.pathname)
  const missing = names.filter(name => !statements.has(name))
  const unused = [...statements.keys()].filter(name => !names.some(known => known === name))
  if (missing.length > 0) throw new Error(`${file.pathname} has no statement ${missing.join(', ')}`)
  if (unused.length > 0) throw new Error(`${file.pathname} has statements that nothing runs: ${unused.join(', ')}`)
  return Object.fromEntries(statements) as { [name in Name]: string }
}

export const readSql = (file: URL): string => readFileSync(file, 'utf8')

const HEADING = /^-- (part|name): ([A-Za-z]\w*)[ \t]*$/gm

function parseStatements(text: string, file: string): ReadonlyMap<string, string> {
  const headings = [...text.matchAll(HEADING)]
  const parts = new Map<string, string>()
  const statements = new Map<string, string>()
  headings.forEach((heading, i) => {
    const [line, kind, name = ''] = heading
    if (parts.has(name) || statements.has(name)) throw new Error(`${file} has "${name}" twice; give each its own name`)
    const body = text.slice(heading.index + line.length, headings[i + 1]?.index)
    const sql = body
      .replace(/^--.*$/gm, '')
      .replace(/\{(\w+)\}/g, (braces, part: string) => parts.get(part) ?? braces)
      .trim()
      .replace(/;$/, '')
    if (sql === '') throw new Error(`${file} has nothing under "${name}"`)
    ;(kind === 'part' ? parts : statements).set(name, sql)
  })
  return statements
}
