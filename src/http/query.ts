import type { TObject } from 'typebox'

const INTEGER = /^-?\d{1,16}$/

/**
 * Query text as values of the schema's types: whole numbers become numbers, lists split at commas. What does not look
 * like its type is left as it is, for the check to refuse. Parameters the schema does not name are ignored.
 */
export function readQuery(schema: TObject, raw: { readonly [name: string]: unknown }): { [name: string]: unknown } {
  const query: { [name: string]: unknown } = {}
  for (const [name, property] of Object.entries(schema.properties)) {
    const text = raw[name]
    if (text !== undefined) query[name] = typed((property as { type?: string }).type, text)
  }
  return query
}

function typed(type: string | undefined, text: unknown): unknown {
  if (type === 'integer') return typeof text === 'string' && INTEGER.test(text) ? Number(text) : text
  if (type === 'array') return (Array.isArray(text) ? text : [text]).flatMap(item => String(item).split(','))
  return text
}
