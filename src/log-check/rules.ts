import { boundRules } from './bounds.js'
import type { Rule } from './checked.js'
import { effectRules } from './effects.js'
import { familyRules } from './family.js'
import { graphOrderRules } from './graph-order.js'
import { nodeLifecycleRules } from './node-lifecycle.js'
import { payloadRules } from './payloads.js'
import { projectionRules } from './projection.js'
import { runLifecycleRules } from './run-lifecycle.js'
import { structureRules } from './structure.js'

/** A feature adds its rules as one file and one line here; ids are never reused. */
export const RULE_GROUPS: readonly { readonly title: string; readonly rules: readonly Rule[] }[] = [
  { title: 'Structure', rules: structureRules },
  { title: 'Life of a run', rules: runLifecycleRules },
  { title: 'Life of a node', rules: nodeLifecycleRules },
  { title: 'Order of the graph', rules: graphOrderRules },
  { title: 'Projections', rules: projectionRules },
  { title: 'Parents and children', rules: familyRules },
  { title: 'Bounds', rules: boundRules },
  { title: 'Effects', rules: effectRules },
  { title: 'Payloads', rules: payloadRules },
]

export const RULES: readonly Rule[] = RULE_GROUPS.flatMap(group => group.rules)
