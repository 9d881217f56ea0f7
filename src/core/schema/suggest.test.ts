import { describe, expect, test } from 'vitest'
import { closestName, suggestion } from './suggest.js'

const KNOWN = [
  'port',
  'mode',
  'title',
  'model',
  'maxRetries',
  'maxCostUsd',
  'delayMs',
  'phase_exit',
  'workflowId',
  'url',
]

describe('what a misspelt name was meant to be', () => {
  test.each([
    ['prot', 'port'],
    ['titel', 'title'],
    ['modell', 'model'],
    ['delayMS', 'delayMs'],
    ['delay_ms', 'delayMs'],
    ['phase-exit', 'phase_exit'],
    ['workflowID', 'workflowId'],
    ['worklfowId', 'workflowId'],
    ['workfow_id', 'workflowId'],
    ['maxRetry', 'maxRetries'],
    ['maxCost', 'maxCostUsd'],
    ['ulr', 'url'],
  ])('%s is %s', (written, meant) => {
    expect(closestName(written, KNOWN)).toBe(meant)
  })

  test.each(['nope', 'colour', 'x', 'user', 'maxTokens', ''])('%s is none of them', written => {
    expect(closestName(written, KNOWN)).toBeUndefined()
  })

  test('what no person wrote gets no advice: very long names, and more known ones than anybody has', () => {
    expect(closestName(`${'a'.repeat(60)}b`, ['a'.repeat(61)])).toBeUndefined()
    expect(closestName('prot', [...Array.from({ length: 500 }, (_, i) => `name${i}`), 'port'])).toBeUndefined()
  })

  test('is told as the end of a sentence, or all there is', () => {
    expect(suggestion('prot', KNOWN, 'settings')).toBe('; did you mean port?')
    expect(suggestion('colour', ['a', 'b'], 'settings')).toBe('; the settings are a, b')
    const many = Array.from({ length: 23 }, (_, i) => `n${i}`)
    expect(suggestion('colour', many, 'nodes')).toMatch(/n18, n19 and 3 more$/)
    expect(suggestion('colour', [], 'settings')).toBe('; there are no settings')
  })
})
