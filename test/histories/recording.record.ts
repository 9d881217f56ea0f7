import { test } from 'vitest'
import { ENGINE_VERSION } from '../../src/core/run/version.js'
import { fileOf, writeHistory } from './history.js'
import { record } from './record.js'
import { STORIES } from './stories/index.js'

/** Run by `node scripts/record-history.mjs NAME ...`, never with the tests. */
const names = (process.env.ASSAY_RECORD ?? '').split(',').filter(name => name !== '')

test.each(names)('records %s', async name => {
  const story = STORIES[name]
  if (story === undefined) throw new Error(`no story "${name}"; there are: ${Object.keys(STORIES).join(', ')}`)
  writeHistory(fileOf(name, ENGINE_VERSION), await record(name, story))
})
