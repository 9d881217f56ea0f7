import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { detailsOf, meansOf, subjectOf } from '../../test/e2e/probes/rig.js'
import { probeFile } from './file.js'
import type { ProbeOf } from './probe.js'

const folder = mkdtempSync(path.join(os.tmpdir(), 'assay-file-'))
const workspace = path.join(folder, 'workspace')
mkdirSync(path.join(workspace, 'out'), { recursive: true })
writeFileSync(path.join(workspace, 'out/report.md'), 'hello')
writeFileSync(path.join(folder, 'secret'), 'hello')
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const probe = (file: string, more: Partial<ProbeOf<'file'>> = {}, root: string | undefined = workspace) =>
  probeFile({ probe_id: 'p', type: 'file', file, exists: true, ...more }, subjectOf(1), meansOf({ workspace: root }))
const outcome = async (...args: Parameters<typeof probe>) => (await probe(...args)).outcome

const sha256 = createHash('sha256').update('hello').digest('hex')

test('a file is there, as large as it must be, with the right contents', async () => {
  expect(await outcome('out/report.md', { sha256: sha256.toUpperCase(), min_bytes: 5, max_bytes: 5 })).toBe('held')
  expect(await outcome('out/report.md', { min_bytes: 6 })).toBe('failed')
  expect(await outcome('out/report.md', { max_bytes: 4 })).toBe('failed')
  const changed = await probe('out/report.md', { sha256: '0'.repeat(64) })
  expect([changed.outcome, detailsOf(changed)]).toEqual([
    'failed',
    `has 5 bytes; its SHA-256 is ${sha256} and must be ${'0'.repeat(64)}`,
  ])
})

test('a file is missing, or is there and must not be', async () => {
  expect(await outcome('out/none')).toBe('failed')
  expect(await outcome('out/report.md/none')).toBe('failed')
  expect(await outcome('out/none', { exists: false })).toBe('held')
  expect(await outcome('out/report.md', { exists: false })).toBe('failed')
  expect(await outcome('out')).toBe('failed')
})

test('without a workspace nothing is known', async () => {
  expect(
    (await probeFile({ probe_id: 'p', type: 'file', file: 'a', exists: true }, subjectOf(1), meansOf())).outcome,
  ).toBe('unavailable')
  expect(await outcome('a', { exists: false }, path.join(folder, 'none'))).toBe('unavailable')
})

test('nothing outside the workspace is looked at', async () => {
  symlinkSync(path.join(folder, 'secret'), path.join(workspace, 'link'))
  symlinkSync(folder, path.join(workspace, 'up'))
  symlinkSync('loop', path.join(workspace, 'loop'))
  symlinkSync('out/report.md', path.join(workspace, 'inside'))
  let attacks = 0
  for (const exists of [true, false]) {
    for (const file of ['../secret', 'out/../../secret', path.join(folder, 'secret'), '..\\secret', '', 'a\0b']) {
      expect(await outcome(file, { exists, sha256 })).toBe('unavailable')
      attacks += 1
    }
    for (const file of ['link', 'up/secret', 'up']) {
      const result = await probe(file, { exists, sha256 })
      expect([result.outcome, detailsOf(result)]).toEqual([
        'failed',
        'leads out of the folder workspace/ of the project',
      ])
      attacks += 1
    }
  }
  expect(attacks).toBe(18)
  expect(await outcome('loop')).toBe('failed')
  expect(await outcome('inside', { sha256 })).toBe('held')
})

test('a folder beside the workspace whose name begins the same is outside', async () => {
  mkdirSync(`${workspace}-old`)
  writeFileSync(path.join(`${workspace}-old`, 'a'), 'hello')
  symlinkSync(path.join(`${workspace}-old`, 'a'), path.join(workspace, 'old'))
  expect(await outcome('old')).toBe('failed')
})

test('what is no file, or too large to hash, holds nobody up', async () => {
  execFileSync('sh', ['-c', 'mkfifo "$1"', 'sh', path.join(workspace, 'pipe')])
  expect(await outcome('pipe', { sha256 })).toBe('failed')
  writeFileSync(path.join(workspace, 'large'), '')
  truncateSync(path.join(workspace, 'large'), 64 * 1024 * 1024 + 1)
  expect(await outcome('large', { sha256 })).toBe('unavailable')
  expect(await outcome('large', { min_bytes: 64 * 1024 * 1024 })).toBe('held')
})
