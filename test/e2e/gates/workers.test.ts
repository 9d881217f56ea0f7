import { mkdtempSync, rmSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { HARVESTED } from './stories.js'
import { Sweep } from './sweep.js'

const scratch = mkdtempSync(path.join(os.tmpdir(), 'assay-gates-workers-'))
const sweep = new Sweep(scratch)
afterAll(() => {
  console.log(`gates over workers and the deaths of their hosts: ${JSON.stringify(sweep.counted)}`)
  rmSync(scratch, { recursive: true, force: true })
})

describe('F1: SIGKILL around every store transaction of a run whose workers are gated, SQLite', () => {
  it.each(HARVESTED)(
    'R-VERIFY-10, R-DWS-36: $name: it ends as it would have, and nothing is merged without a pass',
    story => sweep.everywhere(story),
  )

  it('something was tried', () => {
    expect(Math.min(...Object.values(sweep.counted))).toBeGreaterThan(0)
  })
})
