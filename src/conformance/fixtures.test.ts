import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { beforeEach, expect, test } from 'vitest'
import { isObject } from '../core/json.js'
import { refuse } from '../core/problem.js'
import type { RunEngine } from '../engine/api.js'
import { registerFixtures } from './fixtures.js'

let dir: string
beforeEach(() => {
  dir = fs.mkdtempSync(path.join(os.tmpdir(), 'assay-fixtures-'))
  return () => fs.rmSync(dir, { recursive: true })
})

const write = (name: string, value: unknown) =>
  fs.writeFileSync(path.join(dir, name), typeof value === 'string' ? value : JSON.stringify(value))

/** Takes what has an id, unless it needs something. */
function registry() {
  const shared: unknown[] = []
  const putWorkflow: RunEngine['putWorkflow'] = async (tenant, definition) => {
    if (!isObject(definition as never)) return { ok: false, refusal: refuse('validation_error', 'not a definition') }
    const { id, needs } = definition as { id: string; needs?: string }
    if (needs !== undefined) return { ok: false, refusal: refuse('validation_error', `needs ${needs}`) }
    shared.push(definition)
    const record = { tenant, workflowId: id, digest: '', definition: JSON.stringify(definition), updatedAt: 0 }
    return { ok: true, value: { record, created: true, warnings: [], unknown: [] } }
  }
  return { putWorkflow, shared }
}

function journal() {
  const lines: { level: string; fields: { [name: string]: unknown } }[] = []
  const at = (level: string) => (fields: object) => void lines.push({ level, fields: { ...fields } })
  return { lines, log: { info: at('info'), warn: at('warn'), error: at('error') } }
}

test('registers the JSON files of a folder and says which', async () => {
  write('b.json', { id: 'second' })
  write('a.json', { id: 'first' })
  write('notes.md', '# not a fixture')
  write('.hidden.json', { id: 'hidden' })
  const engine = registry()
  const { log, lines } = journal()
  expect(await registerFixtures(dir, engine, log)).toEqual(['first', 'second'])
  expect(engine.shared).toEqual([{ id: 'first' }, { id: 'second' }])
  expect(lines).toEqual([{ level: 'info', fields: { folder: dir, registered: 2 } }])
})

test('leaves out what this host refuses, with one line that names the file and the reason', async () => {
  write('a.json', { id: 'memory', needs: 'memory' })
  write('b.json', '{ broken')
  write('c.json', [1])
  write('d.json', { id: 'plain' })
  write('e.json', { id: 'plain' })
  fs.mkdirSync(path.join(dir, 'f.json'))
  const { log, lines } = journal()
  expect(await registerFixtures(dir, registry(), log)).toEqual(['plain'])
  const left = lines.filter(({ level }) => level === 'warn').map(({ fields }) => [fields.fixture, fields.reason])
  expect(left).toEqual([
    ['a.json', 'needs memory'],
    ['b.json', expect.stringContaining('not valid JSON')],
    ['c.json', 'not a definition'],
    ['e.json', 'its id is already used by d.json'],
    ['f.json', expect.stringContaining('not a file')],
  ])
})

test('R-CAP-3: a fixture that asks for what nothing would come of is left out, and the others are taken', async () => {
  write('a.json', { id: 'plain', metadata: { tags: [] } })
  write('b.json', { id: 'pack', metadata: { requiresAgentId: 'core.x', tags: [] } })
  write('c.json', { id: 'prose', metadata: { tags: ['envelope', 'nl-to-format-engaged'] } })
  const { log, lines } = journal()
  expect(await registerFixtures(dir, registry(), log)).toEqual(['plain'])
  const left = lines.filter(({ level }) => level === 'warn').map(({ fields }) => [fields.fixture, fields.reason])
  expect(left).toEqual([
    ['b.json', 'this host does nothing with metadata.requiresAgentId'],
    ['c.json', 'this host does nothing with metadata.tags: nl-to-format-engaged'],
  ])
})

test('a folder that is not there is a mistake', async () => {
  const { log } = journal()
  await expect(registerFixtures(path.join(dir, 'none'), registry(), log)).rejects.toThrow(/ENOENT.*check --fixtures/)
})

test('a registration that breaks is not taken for a refusal', async () => {
  write('a.json', { id: 'first' })
  const broken = { putWorkflow: () => Promise.reject(new Error('the store is gone')) }
  await expect(registerFixtures(dir, broken, journal().log)).rejects.toThrow('the store is gone')
})
