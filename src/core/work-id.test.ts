import { describe, expect, test } from 'vitest'
import { isAgentId, isWorkflowId, isWorkId } from './work-id.js'

const CONFUSABLE = ['gated\0', '\0gated', 'ga\0ted', 'Gated', 'gаted', 'ｇated', 'gated ', 'gated\n', 'gated\u200b', '']

describe('ids of work', () => {
  test.each(['gated', 'a', 'a-b_c9', 'x'.repeat(128)])('%j names a workflow', id => {
    expect([isWorkflowId(id), isAgentId(id), isWorkId(id)]).toEqual([true, false, true])
  })

  test.each(['acme.writer', 'local.acme.writer', 'core.x:Y', `a.${'x'.repeat(200)}`])('%j names an agent', id => {
    expect([isWorkflowId(id), isAgentId(id), isWorkId(id)]).toEqual([false, true, true])
  })

  test.each([...CONFUSABLE, ...CONFUSABLE.map(id => `acme.${id}`).filter(id => id !== 'acme.Gated'), 'x'.repeat(129)])(
    '%j names nothing',
    id => {
      expect([isWorkflowId(id), isAgentId(id), isWorkId(id)]).toEqual([false, false, false])
    },
  )
})
