import { mkdtempSync, rmSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { sabotaged } from '../gates/sabotage.js'
import { PROTECTIONS } from './protections.js'

/** What protects a hand-off does, and is what does: a host without it is found out. */

const scratch = mkdtempSync(path.join(os.tmpdir(), 'assay-peers-sabotage-'))
afterAll(() => rmSync(scratch, { recursive: true, force: true }))
let folders = 0
const folder = (): string => {
  folders += 1
  // Where packages are, builds are taken as they are.
  return path.join(scratch, 'node_modules', String(folders))
}

describe.each(PROTECTIONS.map(protection => [protection.name, protection] as const))(
  '%s',
  (_name, { check, sabotage }) => {
    it('is so', async () => {
      await check(folder())
    })

    it('is not so any more where the line that sees to it is gone, and the check says so', async () => {
      const build = sabotaged(folder(), sabotage)
      await expect(check(folder(), build)).rejects.toThrow(/expected/)
    })
  },
)
