import { existsSync, readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import type { JsonObject } from '../../src/core/json.js'
import { jsonSchemaOf } from '../../src/core/schema/json-schema.js'
import { compile, isPlan } from '../../src/core/workflow/compile.js'
import type { WorkflowDefinition } from '../../src/core/workflow/definition.js'
import { coreNodeTypes } from '../../src/core/workflow/nodes/registry.js'
import { warningsOf } from '../../src/core/workflow/warnings.js'
import { definitionShape } from '../../src/http/definition-shape.js'
import { completeDefinition } from '../../src/project/complete.js'
import { WorkflowDocument } from '../../src/wire/workflow-document.js'

const EXAMPLES = fileURLToPath(new URL('../../examples', import.meta.url))
const FIXTURES = '/work/shared/openwop/fixtures'

const workshop = (conformance: boolean) => ({
  nodeTypes: new Map(coreNodeTypes.map(type => [type.typeId, type])),
  capabilities: new Set(conformance ? ['assay.conformance'] : []),
})

const examples = readdirSync(EXAMPLES).flatMap(project => {
  const folder = path.join(EXAMPLES, project, 'workflows')
  return existsSync(folder) ? readdirSync(folder).map(name => path.join(folder, name)) : []
})

const read = (file: string): JsonObject => parse(readFileSync(file, 'utf8')) as JsonObject

describe('every workflow that comes along', () => {
  const fits = new Ajv2020({ strict: false }).compile(withoutDialect(jsonSchemaOf(WorkflowDocument, 'A workflow')))

  test.each(examples.map(file => [path.relative(EXAMPLES, file), file] as const))(
    '%s is taken without a warning, and an editor agrees',
    (_name, file) => {
      const definition = completeDefinition(read(file), path.basename(file, path.extname(file)))
      expect(definitionShape(definition)).toBeUndefined()
      const plan = compile(definition as unknown as WorkflowDefinition, 'digest', workshop(false))
      if (!isPlan(plan)) throw new Error(plan.message)
      expect(warningsOf(plan)).toEqual([])
      expect(fits(read(file)), JSON.stringify(fits.errors)).toBe(true)
    },
  )

  test('the schema for editors knows the configuration of each node type', () => {
    const nodes = (config: JsonObject) => ({ nodes: [{ id: 'a', typeId: 'core.delay', config }] })
    expect(fits(nodes({ delayMs: 5 }))).toBe(true)
    expect(fits(nodes({ delayMS: 5 }))).toBe(false)
    expect(fits({ nodes: [{ id: 'a', typeId: 'core.noop', config: { delayMs: 5 } }] })).toBe(false)
  })
})

/** Fixtures of the protocol's suite that this host does not take, with the reason why. */
const REFUSED: { readonly [name: string]: RegExp } = {
  'conformance-agent-channel-dispatch': /agent\.channel is not supported/,
  'conformance-agent-memory-redaction': /config\.(memoryAction|byokSecretId) is not a known field/,
  'conformance-agent-memory-roundtrip': /config\.memoryAction is not a known field/,
  'conformance-agent-memory-ttl': /config\.memoryAction is not a known field/,
  'conformance-mcp-tool-roundtrip': /config\.mcp is not a known field/,
  'conformance-stream-text': /config\.promptId is not a known field/,
}

describe.skipIf(!existsSync(FIXTURES))('R-CAP-3: every public fixture is taken, or refused for a listed reason', () => {
  const names = existsSync(FIXTURES) ? readdirSync(FIXTURES).filter(name => name.endsWith('.json')) : []

  test.each(names)('%s', name => {
    const definition = JSON.parse(readFileSync(path.join(FIXTURES, name), 'utf8')) as WorkflowDefinition
    const misshapen = definitionShape(definition)
    const result = misshapen ?? compile(definition, 'digest', workshop(true))
    const reason = REFUSED[name.replace(/\.json$/, '')]
    if (reason) expect('message' in result && result.message).toMatch(reason)
    else expect('message' in result ? result.message : 'taken').toBe('taken')
  })
})

function withoutDialect({ $schema: _dialect, ...schema }: JsonObject): JsonObject {
  return schema
}
