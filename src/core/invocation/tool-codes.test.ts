import fs from 'node:fs'
import { expect, it } from 'vitest'
import { TOOL_CODES, toolError } from './tool-codes.js'

it('R-TOOL-4: every code has one sentence, and the contract page has the same', () => {
  const page = fs.readFileSync('docs/contract/agents.md', 'utf8')
  const rows = [...page.matchAll(/^\| `([a-z_]+)` \| (.+) \|$/gm)].map(([, code, message]) => [code, message])
  expect(rows).toEqual(Object.entries(TOOL_CODES))
})

it('R-TOOL-4: a code that is not known, also one of every object, is told in general words', () => {
  for (const code of ['tool_made_up', 'constructor', '__proto__'])
    expect(toolError(code)).toEqual({ code, message: 'The tool gave no result' })
})
