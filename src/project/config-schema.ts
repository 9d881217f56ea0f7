import type { TProperties, TSchema } from 'typebox'
import { BudgetSchema } from '../core/budget/budget.js'
import type { Json, JsonObject } from '../core/json.js'
import { Closed, May } from '../core/schema/kinds.js'
import { schemaProblems } from '../core/schema/problems.js'
import { type GivenSections, MODEL_PARTS, PricesSchema, sectionProblems, TOOL_PARTS } from './agent-settings.js'
import { SETTINGS, variableOf } from './settings.js'

/** What a run may bring as well, but for what is to happen when it is used up: that is for the run to say. */
const { onExhaustion: _, ...BUDGET_FIELDS } = BudgetSchema.properties
const Budget = Closed(BUDGET_FIELDS, { description: 'what every run of this host may spend at most' })

/** The whole of `assay.config.*`: the settings by section, and those that have parts of their own. */
export const ConfigSchema = ((): TSchema => {
  const sections: { [section: string]: TProperties } = { models: { ...MODEL_PARTS }, tools: { ...TOOL_PARTS } }
  const fields: { [field: string]: TSchema } = { prices: May(PricesSchema), budget: May(Budget) }
  for (const [setting, { schema, inFile }] of Object.entries(SETTINGS)) {
    const [head = '', tail] = setting.split('.')
    if (inFile === false) continue
    if (tail === undefined) fields[head] = May(schema)
    else sections[head] = { ...sections[head], [tail]: May(schema) }
  }
  for (const [name, parts] of Object.entries(sections))
    fields[name] = May(Closed(parts, { 'x-must-be': 'an object of settings' }))
  return Closed(fields, { 'x-must-be': 'an object of settings' })
})()

/** Everything that is wrong with the settings in a file. */
export function configFileProblems(settings: JsonObject): string[] {
  const named = Object.entries(settings)
  const outside = named.filter(([name]) => SETTINGS[name]?.inFile === false).map(([name]) => name)
  const rest = Object.fromEntries(named.filter(([name]) => !outside.includes(name)))
  const misplaced = outside.map(name => `${name} cannot be set in a file; use ${variableOf(name)}`)
  const misshapen = schemaProblems(ConfigSchema, rest as Json)
  if (misshapen.length > 0) return [...misplaced, ...misshapen]
  return [...misplaced, ...sectionProblems(rest as GivenSections)]
}
