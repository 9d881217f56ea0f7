import { mkdtempSync, rmSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { ELSEWHERE } from './stories.js'
import { Sweep } from './sweep.js'

const scratch = mkdtempSync(path.join(os.tmpdir(), 'assay-gates-places-'))
const sweep = new Sweep(scratch)
afterAll(() => {
  console.log(`gates elsewhere and the deaths of their hosts: ${JSON.stringify(sweep.counted)}`)
  rmSync(scratch, { recursive: true, force: true })
})

describe('F1: SIGKILL around every store transaction of a run with a gate elsewhere, SQLite', () => {
  it.each(ELSEWHERE)('R-VERIFY-10: $name: it ends as it would have, and nothing is merged without a pass', story =>
    sweep.everywhere(story),
  )

  it('something was tried', () => {
    expect(Math.min(...Object.values(sweep.counted))).toBeGreaterThan(0)
  })
})
