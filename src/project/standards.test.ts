import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { beforeEach, describe, expect, test } from 'vitest'
import { ProjectError } from './load-project.js'
import { loadStandards, readStandard } from './standards.js'

let dir: string
beforeEach(() => {
  dir = fs.mkdtempSync(path.join(os.tmpdir(), 'assay-standards-'))
  return () => fs.rmSync(dir, { recursive: true })
})

function write(file: string, text: string) {
  fs.mkdirSync(path.join(dir, path.dirname(file)), { recursive: true })
  fs.writeFileSync(path.join(dir, file), text)
}

describe('the standards of a project folder', () => {
  test('are its gates, intents and knowledge; the id of each defaults to its file’s name', async () => {
    write('gates/report.yaml', 'name: Reports')
    write('gates/notes.md', 'not a gate')
    write('gates/.hidden.yaml', 'nor this')
    write('intents/a.json', '{"intent_id": "true-reports"}')
    write('knowledge/style.yml', 'title: Style')
    expect(await loadStandards(dir)).toEqual([
      { file: 'gates/report.yaml', kind: 'gate', document: { gate_id: 'report', name: 'Reports' } },
      { file: 'intents/a.json', kind: 'intent', document: { intent_id: 'true-reports' } },
      { file: 'knowledge/style.yml', kind: 'knowledge', document: { entry_id: 'style', title: 'Style' } },
    ])
  })

  test('are none in a folder without them', async () => {
    expect(await loadStandards(dir)).toEqual([])
  })

  test('every bad file is named, not just the first', async () => {
    write('gates/a.json', '{')
    write('intents/b.yaml', '- list')
    write('knowledge/c.md', '---\n- list\n---\ntext')
    write('knowledge/d.yaml', 'entry_id: same')
    write('knowledge/e.yaml', 'entry_id: same')
    const error = await loadStandards(dir).catch((reason: unknown) => reason)
    expect(error).toBeInstanceOf(ProjectError)
    const { problems } = error as ProjectError
    expect(problems.map(problem => path.basename(problem.split(': ')[0]!))).toEqual([
      'a.json',
      'b.yaml',
      'c.md',
      'e.yaml',
    ])
    expect(problems[3]).toBe('knowledge/e.yaml: the knowledge same is already in knowledge/d.yaml; give one another id')
  })
})

describe('knowledge as prose', () => {
  const read = async (text: string) => {
    write('knowledge/house-style.md', text)
    return readStandard(path.join(dir, 'knowledge/house-style.md'), 'knowledge')
  }

  test('its first heading is its title', async () => {
    expect(await read('\n# House *style* #\n\nShort sentences.\n\n## Words\n')).toEqual({
      entry_id: 'house-style',
      title: 'House *style*',
      text: '# House *style* #\n\nShort sentences.\n\n## Words',
    })
  })

  test('what stands above it says more', async () => {
    const text =
      '---\nentry_id: style\ntitle: Style\nurl: https://example.com/style\n---\n# Heading\n\nA line.\n---\nAnother.\n'
    expect(await read(text)).toEqual({
      entry_id: 'style',
      title: 'Style',
      url: 'https://example.com/style',
      text: '# Heading\n\nA line.\n---\nAnother.',
    })
  })

  test('a line of dashes below is only that, and without a heading there is no title', async () => {
    expect(await read('Short sentences.\n---\nNo more.\n---\n\nNone.\n')).toEqual({
      entry_id: 'house-style',
      text: 'Short sentences.\n---\nNo more.\n---\n\nNone.',
    })
  })
})
