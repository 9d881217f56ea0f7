import os from 'node:os'
import { expect, test } from 'vitest'
import { loadConfig } from '../../config.js'
import { checkModels } from './checks.js'

const check = (env: { [name: string]: string }) => checkModels(loadConfig({}, env, os.tmpdir()))

test('doctor says which models answer, and which key is missing, without asking them', async () => {
  expect(await check({})).toEqual({ name: 'models', level: 'ok', found: 'scripted:scripted' })
  expect(await check({ OPENAI_API_KEY: 'k' })).toEqual({ name: 'models', level: 'ok', found: 'openai:gpt-5-mini' })
  const supervisor = { ASSAY_MODELS_SUPERVISOR: 'anthropic:claude-sonnet-4-5' }
  expect(await check(supervisor)).toEqual({
    name: 'models',
    level: 'fail',
    found: 'scripted:scripted, anthropic:claude-sonnet-4-5: there is no key for anthropic',
    todo: 'set ANTHROPIC_API_KEY',
  })
})
