import { expect, test } from 'vitest'
import { isNamed } from '../../../core/names.js'
import type { BuiltinDeps } from './builtins.js'
import { WORKSPACE_TOOLS } from './workspace.js'

const deps = { settings: { rules: {} }, desk: {} } as unknown as BuiltinDeps

test('R-WS-1: an agent names files as everybody does: nothing is written that nobody else could ask for', () => {
  const patterns = WORKSPACE_TOOLS.flatMap(make => {
    const { properties = {} } = make(deps)!.tool.shown.inputSchema as { properties?: { path?: { pattern: string } } }
    return properties.path ? [new RegExp(properties.path.pattern)] : []
  })
  expect(patterns).toHaveLength(3)
  for (const path of ['reports/may.md', 'a', 'a//b', 'a/', 'a..b', '../a', '.a', 'a/./b', 'ä', 'x'.repeat(257)])
    for (const pattern of patterns) expect(pattern.test(path), path).toBe(isNamed('filePath', path))
})
