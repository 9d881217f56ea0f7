import fs from 'node:fs'
import path from 'node:path'
import { Ajv } from 'ajv'
import type { TSchema } from 'typebox'
import { describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { AgentFileSchema } from '../../src/agents/catalog/manifest.js'
import { PackSchema } from '../../src/agents/catalog/pack.js'
import { PromptSchema } from '../../src/agents/catalog/prompt-file.js'
import { GoalSchema } from '../../src/core/goal/goal-schema.js'
import { jsonSchemaOf } from '../../src/core/schema/json-schema.js'
import { ConfigSchema } from '../../src/project/config-schema.js'
import { GateSchema } from '../../src/standards/gate-document.js'
import { IntentSchema } from '../../src/standards/intent-document.js'
import { KnowledgeSchema } from '../../src/standards/knowledge-document.js'
import { WorkflowDocument } from '../../src/wire/workflow-document.js'

const root = path.resolve(import.meta.dirname, '../..')

/** What a person writes, with the files of the examples that are one. */
const SCHEMAS: readonly (readonly [name: string, title: string, schema: TSchema, files: RegExp])[] = [
  ['config', 'assay.config.yaml of an Assay project', ConfigSchema, /\/assay\.config\.(ya?ml|json)$/],
  ['workflow', 'A workflow of an Assay project', WorkflowDocument, /^examples\/[^/]+\/workflows\/[^/]+\.(ya?ml|json)$/],
  ['gate', 'A gate of an Assay project', GateSchema, /^examples\/[^/]+\/gates\/[^/]+\.(ya?ml|json)$/],
  ['intent', 'An intent of an Assay project', IntentSchema, /^examples\/[^/]+\/intents\/[^/]+\.(ya?ml|json)$/],
  ['knowledge', 'Knowledge of an Assay project', KnowledgeSchema, /^examples\/[^/]+\/knowledge\/[^/]+\.(ya?ml|json)$/],
  ['goal', 'A goal of an Assay project', GoalSchema, /^examples\/[^/]+\/goals\/[^/]+\.(ya?ml|json)$/],
  ['agent', 'An agent of an Assay project', AgentFileSchema, /^examples\/[^/]+\/agents\/[^/]+\.(ya?ml|json|md)$/],
  ['prompt', 'A prompt of an Assay project', PromptSchema, /^examples\/[^/]+\/prompts\/[^/]+\.(ya?ml|json)$/],
  ['pack', 'The manifest of a pack of agents', PackSchema, /\/pack\.json$/],
]

const examples = fs
  .readdirSync(path.join(root, 'examples'), { recursive: true, encoding: 'utf8' })
  .map(name => `examples/${name.split(path.sep).join('/')}`)

/** What the host takes from the file's name need not be written in it. */
const NAMED_BY_FILE = ['gate_id', 'intent_id']

const fileSchema = (schema: TSchema, title: string) => {
  const { required, ...rest } = jsonSchemaOf(schema, title)
  const names = Array.isArray(required) ? required.filter(name => !NAMED_BY_FILE.includes(String(name))) : []
  return names.length === 0 ? rest : { ...rest, required: names }
}

/** An agent in Markdown says its fields above the text. */
const documentIn = (file: string): unknown => {
  const text = fs.readFileSync(path.join(root, file), 'utf8')
  return parse(file.endsWith('.md') ? (/^---\n([\s\S]*?)\n---/.exec(text)?.[1] ?? '') : text)
}

describe('schemas for editors (`vitest -u` rewrites them)', () => {
  test.each(SCHEMAS)('%s.schema.json is what the host reads by', async (name, title, schema) => {
    const text = `${JSON.stringify(fileSchema(schema, title), null, 2)}\n`
    await expect(text).toMatchFileSnapshot(path.join(root, 'schemas', `${name}.schema.json`))
  })

  test.each(SCHEMAS)(
    '%s.schema.json takes what the examples say, and refuses a misspelt field',
    (name, title, schema, files) => {
      const validate = new Ajv({ strict: false, allErrors: true }).compile(fileSchema(schema, title))
      validate({ misspelt: 1 })
      expect(validate.errors).toContainEqual(
        expect.objectContaining({ keyword: 'additionalProperties', instancePath: '' }),
      )
      const found = examples.filter(file => files.test(file))
      for (const file of found) {
        const document = documentIn(file) as object
        expect(validate(document) ? [] : validate.errors, file).toEqual([])
        expect(validate({ ...document, misspelt: 1 }), `${file} with a field that is not known`).toBe(false)
      }
      if (!['prompt', 'pack', 'knowledge'].includes(name)) expect(found.length).toBeGreaterThan(0)
    },
  )
})
