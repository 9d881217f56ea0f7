import { RULE_GROUPS } from './rules.js'

/** docs/reference/log-rules.md, from the table of rules. */
export function describeRules(): string {
  const lines = [
    '# Log rules',
    '',
    'What `src/log-check` demands of every stored log. Generated from its table of rules; to regenerate:',
    '`npx vitest run src/log-check/describe.test.ts -u`.',
    '',
    'The checker reads stored events, run rows and definitions only, and shares no code with the engine. Rules marked ★',
    'hold for Assay’s own logs; the others for logs of every OpenWOP host. A rule that needs something which was not given',
    '(a definition, a row, a snapshot, the child’s log) finds nothing. Sections and ids are those of',
    '[the contract](../contract/README.md), `faults` is one of its pages, `decision` one of `docs/decisions`, `design` one',
    'of `docs/design`, `ports` the store contract in `src/engine/ports/`.',
  ]
  for (const group of RULE_GROUPS) {
    lines.push('', `## ${group.title}`, '', '| Rule | Promise | Source |', '|---|---|---|')
    for (const rule of group.rules) {
      lines.push(`| ${rule.id}${rule.assayOnly === true ? ' ★' : ''} | ${rule.title} | ${rule.source} |`)
    }
  }
  return `${lines.join('\n')}\n`
}
