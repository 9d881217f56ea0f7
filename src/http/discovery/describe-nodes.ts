import type { TSchema } from 'typebox'
import type { Shape } from '../../core/schema/shape.js'
import { mustBe } from '../../core/schema/words.js'
import type { NodeType } from '../../core/workflow/node-type.js'
import { coreNodeTypes } from '../../core/workflow/nodes/registry.js'
import { NodeSettingsSchema, WorkflowSettingsSchema } from '../../core/workflow/settings.js'

type Described = Shape & { readonly description?: string; readonly default?: unknown }

/** `docs/reference/nodes.md`; a test compares the two. */
export function describeNodes(): string {
  const types = coreNodeTypes.toSorted((a, b) => (a.typeId < b.typeId ? -1 : 1))
  return `# Node types

This page is generated from the schemas in \`src/core/workflow/nodes\`; a test fails when the two differ.

A node's \`config\` takes the fields below and no others: an unknown one is refused when the workflow is registered, with
the name that was probably meant. A node of any type takes \`nondeterministic: true\` besides: a replay then tells what it
brought as it was recorded, whatever it would bring now. Ports named here are those by which edges leave; every other node has the one port
\`output\`.

${types.map(section).join('\n')}
## Settings of a node

${table(NodeSettingsSchema)}

## Settings of a workflow

${table(WorkflowSettingsSchema)}

A setting that is not in these tables is kept and not read; registration warns of it.
`
}

const section = ({ typeId, about, config, ports, loops, role, requires, reads }: NodeType): string => {
  const leaves = ports ?? (role === 'supervisor' && loops ? ['body', 'done'] : undefined)
  const facts = [
    ...(leaves ? [`Ports: ${leaves.map(code).join(', ')}.`] : []),
    ...(reads ? [`Its expressions read ${reads.map(code).join(', ')} too.`] : []),
    ...(requires ? [`Needs the capability ${requires.map(code).join(', ')}.`] : []),
  ]
  const fields =
    Object.keys((config as Described).properties ?? {}).length === 0 ? 'It takes no configuration.' : table(config)
  return `## \`${typeId}\`

${[about, ...facts].join(' ')}

${fields}
`
}

const code = (text: string): string => `\`${text}\``

function table(schema: TSchema): string {
  return `| Field | Must be | Meaning |
|---|---|---|
${rowsOf(schema as unknown as Described, '').join('\n')}`
}

/** A field of an object within is a row of its own; those of lists and unions are said in words. */
function rowsOf({ properties = {}, required = [] }: Described, at: string): string[] {
  return Object.entries(properties).flatMap(([name, field]) => {
    const shape = field as Described
    const demand = [
      escaped(mustBe(shape)),
      ...(required.includes(name) ? ['required'] : []),
      ...(shape.default === undefined ? [] : [`default ${code(JSON.stringify(shape.default))}`]),
    ].join('; ')
    return [
      `| ${code(at + name)} | ${demand} | ${escaped(shape.description ?? '')} |`,
      ...(shape.properties ? rowsOf(shape, `${at}${name}.`) : []),
    ]
  })
}

const escaped = (text: string): string => text.replaceAll('|', '\\|')
