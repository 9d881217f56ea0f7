import { describe, expect, test } from 'vitest'
import type { Json } from '../../core/json.js'
import { parseRef, refText } from './ref.js'

describe('prompt references', () => {
  test.each<[Json, string]>([
    ['prompt:writer', 'prompt:writer'],
    ['prompt:vendor.acme.writer.v2@2.0.0-rc.1', 'prompt:vendor.acme.writer.v2@2.0.0-rc.1'],
    [{ templateId: 'writer' }, 'prompt:writer'],
    [{ templateId: 'w', libraryId: 'vendor.acme', version: '1.0.0', variableOverrides: { a: 1 } }, 'prompt:w@1.0.0'],
  ])('R-PROMPT-1: %j is %s', (value, text) => {
    expect(refText(parseRef(value)!)).toBe(text)
  })

  test.each<[Json]>([
    ['writer'],
    ['prompt:'],
    ['prompt:Writer'],
    ['prompt:../x'],
    ['prompt:w@1'],
    ['prompt:w@1.0.0@2.0.0'],
    [`prompt:${'w'.repeat(129)}`],
    [7],
    [null],
    [[]],
    [{}],
    [{ templateId: 'w', kind: 'user' }],
    [{ templateId: 'w', version: 1 }],
    [{ templateId: 'w', libraryId: '' }],
    [{ templateId: 'w', variableOverrides: [] }],
  ])('%j is none', value => {
    expect(parseRef(value)).toBeUndefined()
  })
})
