import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { Ajv2020 } from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'

/** The protocol's own schemas, where they are at hand; they are not part of this repository. */
const SCHEMAS = '/work/shared/openwop/schemas'
export const hasProtocolSchemas = existsSync(SCHEMAS)

let compiled: Ajv2020 | undefined

function all(): Ajv2020 {
  if (compiled !== undefined) return compiled
  compiled = new Ajv2020({ strict: false })
  addFormats.default(compiled)
  for (const file of readdirSync(SCHEMAS, { recursive: true, encoding: 'utf8' }))
    if (file.endsWith('.json')) compiled.addSchema(JSON.parse(readFileSync(`${SCHEMAS}/${file}`, 'utf8')))
  return compiled
}

/** What a schema, or a definition within one (`run-event-payloads#/$defs/runStarted`), finds wrong with a value. */
export function schemaErrors(name: string, value: unknown): readonly object[] {
  const [schema, part = ''] = name.split('#')
  const validate = all().getSchema(`https://openwop.dev/spec/v1/${schema}.schema.json${part && `#${part}`}`)
  if (validate === undefined) throw new Error(`there is no schema ${name}`)
  return validate(value) ? [] : (validate.errors ?? []).map(error => ({ schema: name, ...error }))
}
