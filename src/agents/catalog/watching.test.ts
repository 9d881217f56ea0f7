import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { until } from '../../../test/e2e/webhooks/until.js'
import type { SchemaChecker } from '../../engine/ports/schema-checker.js'
import { ManualClock } from '../../testing/manual-clock.js'
import { type Catalog, createCatalog } from './catalog.js'

const schemas: SchemaChecker = {
  inspect: async () => undefined,
  check: async () => undefined,
  violation: async () => undefined,
  close: async () => undefined,
}

let dir: string
let catalog: Catalog
let clock: ManualClock
let logged: string[]
let changes: number

beforeEach(() => {
  dir = fs.mkdtempSync(path.join(os.tmpdir(), 'assay-watch-'))
})
afterEach(async () => {
  await catalog.close()
  fs.rmSync(dir, { recursive: true })
})

function write(file: string, text: string): void {
  fs.mkdirSync(path.join(dir, path.dirname(file)), { recursive: true })
  fs.writeFileSync(path.join(dir, file), text)
}

async function open(): Promise<void> {
  clock = new ManualClock()
  logged = []
  changes = 0
  const note = (fields: { problem?: string }) => void logged.push(fields.problem ?? '')
  catalog = await createCatalog({
    project: dir,
    watch: true,
    log: { info: note, warn: note, error: note },
    schemas,
    clock,
    capabilities: new Set(),
  })
  catalog.onChange(() => {
    changes += 1
  })
}

/** The file system tells of changes when it likes; the clock must not stand still meanwhile. */
const comes = (condition: () => boolean) =>
  until(async () => {
    await clock.advance(1_000)
    return condition()
  })

const agent = (prompt: string) => `agentId: local.acme.w\nmodelClass: general\nsystemPrompt: ${prompt}`
const prompt = () => catalog.get('local.acme.w')?.systemPrompt

describe('a catalogue that watches', () => {
  test('takes up a change, an addition and a removal, and tells', async () => {
    write('agents/w.yaml', agent('One.'))
    await open()
    expect(prompt()).toBe('One.')
    write('agents/w.yaml', agent('Two.'))
    await comes(() => prompt() === 'Two.')
    expect(changes).toBeGreaterThan(0)
    write('agents/v.yaml', 'agentId: local.acme.v\nmodelClass: general\nsystemPrompt: V.')
    await comes(() => catalog.list().length === 2)
    fs.rmSync(path.join(dir, 'agents/w.yaml'))
    await comes(() => catalog.list().length === 1)
    expect(catalog.problems()).toEqual([])
  })

  test('keeps the last good version of a file that is broken, whole, and says so once', async () => {
    write('agents/w.yaml', 'agentId: local.acme.w\nmodelClass: general\nsystemPromptRef: p/w.md')
    write('agents/p/w.md', 'One.')
    write('agents/v.yaml', 'agentId: local.acme.v\nmodelClass: general\nsystemPrompt: V.')
    await open()
    write('agents/w.yaml', 'agentId: local.acme.w\nmodelClass: smart\nsystemPromptRef: p/w.md')
    await comes(() => catalog.problems().length === 1)
    // Half of a file is never taken: the new prompt waits for a manifest that can be used.
    write('agents/p/w.md', 'Two.')
    write('agents/v.yaml', 'agentId: local.acme.v\nmodelClass: general\nsystemPrompt: V2.')
    await comes(() => catalog.get('local.acme.v')?.systemPrompt === 'V2.')
    expect(prompt()).toBe('One.')
    expect(catalog.get('local.acme.w')?.manifest.modelClass).toBe('general')
    expect(logged).toEqual([expect.stringMatching(/^agents\/w\.yaml: modelClass must be one of .* got "smart"$/)])
    write('agents/w.yaml', 'agentId: local.acme.w\nmodelClass: coding\nsystemPromptRef: p/w.md')
    await comes(() => prompt() === 'Two.')
    expect(catalog.problems()).toEqual([])
  })

  test('an agent that takes the id of another keeps its last good version, and so does the other', async () => {
    write('agents/a.yaml', agent('A.'))
    write('agents/b.yaml', 'agentId: local.acme.b\nmodelClass: general\nsystemPrompt: B.')
    await open()
    write('agents/b.yaml', agent('B2.'))
    await comes(() => catalog.problems().length === 1)
    expect([prompt(), catalog.get('local.acme.b')?.systemPrompt]).toEqual(['A.', 'B.'])
  })

  test('follows prompts, packs and folders that come later', async () => {
    await open()
    expect(catalog.list()).toEqual([])
    write('agents/w.yaml', 'agentId: local.acme.w\nmodelClass: general\nsystemPromptRef: prompt:w')
    write('prompts/w.yaml', 'kind: system\ntext: From a template.')
    await comes(() => prompt() === 'From a template.')
    write('prompts/w.yaml', 'kind: system\ntext: From a better one.')
    await comes(() => prompt() === 'From a better one.')
    write(
      'packs/p/agents/v.json',
      '{"agentId": "vendor.acme.v", "persona": "V", "modelClass": "general", "systemPrompt": "V."}',
    )
    write('packs/p/pack.json', '{"name": "vendor.acme.p", "version": "1.0.0", "agents": ["agents/v.json"]}')
    await comes(() => catalog.get('vendor.acme.v') !== undefined)
    write('packs/p/pack.json', '{"name": "vendor.acme.p", "version": "1.1.0", "agents": ["agents/v.json"]}')
    await comes(() => catalog.get('vendor.acme.v')?.packVersion === '1.1.0')
    write(
      'packs/p/pack.json',
      '{"name": "vendor.acme.p", "peerDependencies": {"vendor.acme.q": {}}, "version": "1.2.0"}',
    )
    await comes(() => catalog.problems().length === 1)
    expect(catalog.get('vendor.acme.v')).toMatchObject({ packVersion: '1.1.0', degraded: ['vendor.acme.q'] })
    // A folder that was removed and made again is watched again.
    fs.rmSync(path.join(dir, 'agents'), { recursive: true })
    await comes(() => prompt() === undefined)
    write('agents/w.yaml', agent('Again.'))
    await comes(() => prompt() === 'Again.')
    write('agents/w.yaml', agent('And again.'))
    await comes(() => prompt() === 'And again.')
  })

  test('does nothing more when it is closed', async () => {
    write('agents/w.yaml', agent('One.'))
    await open()
    write('agents/w.yaml', agent('Two.'))
    await catalog.close()
    await clock.advance(10_000)
    expect([prompt(), changes]).toEqual(['One.', 0])
  })
})
