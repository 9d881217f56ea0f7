import { expect, test } from 'vitest'
import { toolName } from './tool-name.js'

test.each([
  ['mcp:files.read', 'mcp_files_read'],
  ['local:a-b_c', 'local_a-b_c'],
  ['', 'tool'],
  ['ü:é', '___'],
  [`x:${'y'.repeat(100)}`, `x_${'y'.repeat(62)}`],
])('%j is known as %j', (toolId, name) => {
  expect(toolName(toolId, new Set())).toBe(name)
})

test('two tools never have one name', () => {
  const taken = new Set<string>()
  const ids = ['a:b.c', 'a:b_c', 'a_b:c', `a:${'z'.repeat(80)}1`, `a:${'z'.repeat(80)}2`]
  for (const id of ids) taken.add(toolName(id, taken))
  expect(taken.size).toBe(5)
  for (const name of taken) expect(name).toMatch(/^[A-Za-z0-9_-]{1,64}$/)
})
