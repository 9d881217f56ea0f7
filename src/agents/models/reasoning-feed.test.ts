import { expect, test } from 'vitest'
import { createSecrets } from '../../secrets/secrets.js'
import { reasoningFeed } from './reasoning-feed.js'

const SECRET = 'CNRY-secret-value-0123456789'
const secrets = createSecrets(async () => SECRET)
await secrets.resolve({ env: 'S' })

function heard(text: string, step: number): string[] {
  const told: string[] = []
  const feed = reasoningFeed({ verbosity: 'full', onReasoning: delta => told.push(delta) }, secrets.redact)
  for (let at = 0; at < text.length; at += step) feed.add(text.slice(at, at + step))
  feed.end()
  return told
}

test.each([1, 7, 256, 1000, 100_000])('A4: a secret is never told in parts, in steps of %i', step => {
  const text = Array.from({ length: 120 }, (_, i) => `${'a'.repeat(i % 53)} ${SECRET}${i} `).join('')
  const told = heard(text, step)
  expect(told.join('')).toBe(secrets.redact.text(text))
  expect(told.join('')).not.toContain('CNRY')
  for (const part of told) expect(part).not.toMatch(/CNRY|0123456789/)
})

test('characters outside the basic plane stay whole', () => {
  const text = '😀'.repeat(3000)
  const told = heard(text, 2)
  expect(told.join('')).toBe(text)
  for (const part of told) expect(part).not.toMatch(/^[\udc00-\udfff]|[\ud800-\udbff]$/)
})
