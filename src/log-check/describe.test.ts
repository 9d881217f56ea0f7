import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { describeRules } from './describe.js'
import { RULES } from './rules.js'

const page = fileURLToPath(new URL('../../docs/reference/log-rules.md', import.meta.url))
const folder = fileURLToPath(new URL('.', import.meta.url))

test('docs/reference/log-rules.md is the table of rules; `vitest -u` rewrites it', async () => {
  await expect(describeRules()).toMatchFileSnapshot(page)
})

test('rule ids are unique', () => {
  expect(new Set(RULES.map(rule => rule.id)).size).toBe(RULES.length)
})

test('the checker shares no code with what it checks: it imports its own files and node:crypto only', () => {
  for (const file of readdirSync(folder, { recursive: true, encoding: 'utf8' })) {
    if (!file.endsWith('.ts') || file.endsWith('.test.ts')) continue
    for (const [, target = ''] of readFileSync(`${folder}${file}`, 'utf8').matchAll(
      /(?:from|import)\s*\(?'([^']+)'/g,
    )) {
      if (target === 'node:crypto') continue
      expect(target, file).toMatch(/^\.{1,2}\/[a-z/.-]+\.js$/)
      const found = path.posix.join(path.posix.dirname(file), target)
      expect(found, file).not.toMatch(/^\.\./)
      if (!file.startsWith('testing/')) expect(found, file).not.toMatch(/^testing\//)
    }
  }
})
