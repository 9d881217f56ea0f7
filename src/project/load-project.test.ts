import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { beforeEach, describe, expect, test } from 'vitest'
import { completeDefinition } from './complete.js'
import { parseDocument } from './document.js'
import { loadProject, ProjectError } from './load-project.js'

let dir: string
beforeEach(() => {
  dir = fs.mkdtempSync(path.join(os.tmpdir(), 'assay-project-'))
  fs.mkdirSync(path.join(dir, 'workflows'))
  return () => fs.rmSync(dir, { recursive: true })
})

const write = (name: string, text: string) => fs.writeFileSync(path.join(dir, 'workflows', name), text)
const problemsOf = async () => {
  const error = await loadProject(dir).catch((reason: unknown) => reason)
  expect(error).toBeInstanceOf(ProjectError)
  return (error as ProjectError).problems
}

describe('loadProject', () => {
  test('reads JSON and YAML in name order and leaves other files alone', async () => {
    write('b.yaml', 'id: two\nnodes: []')
    write('a.json', '{"id": "one", "nodes": []}')
    write('c.yml', 'nodes: []')
    write('notes.md', 'not a workflow')
    write('.hidden.yaml', 'nor this')
    const { workflows } = await loadProject(dir)
    expect(workflows.map(({ id, file }) => [id, file])).toEqual([
      ['one', 'workflows/a.json'],
      ['two', 'workflows/b.yaml'],
      ['c', 'workflows/c.yml'],
    ])
  })

  test('a folder without workflows has none; a folder that is not there is an error', async () => {
    fs.rmdirSync(path.join(dir, 'workflows'))
    expect((await loadProject(dir)).workflows).toEqual([])
    await expect(loadProject(path.join(dir, 'nowhere'))).rejects.toThrow(/no such project folder/)
  })

  test('two files with one id are an error that names both', async () => {
    write('a.yaml', 'id: same')
    write('b.yaml', 'id: same')
    expect(await problemsOf()).toEqual([
      'workflows/b.yaml: the id same is already used by workflows/a.yaml; give one another id',
    ])
  })

  test('every bad file is named, not just the first', async () => {
    write('a.json', '{"id": }')
    write('b.yaml', '- list')
    write('c.yaml', 'id: 5')
    write('d.yaml', `id: d\nnote: ${'x'.repeat(1024 * 1024)}`)
    const problems = await problemsOf()
    expect(problems.map(problem => path.basename(problem.split(': ')[0] as string))).toEqual([
      'a.json',
      'b.yaml',
      'c.yaml',
      'd.yaml',
    ])
  })
})

describe('parseDocument refuses', () => {
  const bomb = `a: &a [x, x, x, x, x, x, x, x, x]\n${'bcdefghi'
    .split('')
    .map((key, i) => {
      const before = 'abcdefgh'[i]
      return `${key}: &${key} [${Array(9).fill(`*${before}`).join(', ')}]`
    })
    .join('\n')}`

  test.each([
    ['a prototype key', '{"a": {"__proto__": {"x": 1}}}', 'f.json', /key a\.__proto__ is not allowed/],
    ['a prototype key in YAML', 'a: { constructor: 1 }', 'f.yaml', /key a\.constructor is not allowed/],
    ['an alias bomb', bomb, 'f.yaml', /alias/i],
    ['a structure that contains itself', 'a: &x { y: *x }', 'f.yaml', /nested deeper/],
    ['depth beyond reason', `${'['.repeat(100)}${']'.repeat(100)}`, 'f.json', /nested deeper/],
    ['numbers that JSON lacks', 'a: .inf', 'f.yaml', /JSON cannot hold/],
    ['two documents', 'a: 1\n---\nb: 2', 'f.yaml', /multiple documents/],
    ['a key twice', 'a: 1\na: 2', 'f.yaml', /unique/],
    ['keys that are not text', '? [1]\n: 2', 'f.yaml', /keys must be strings/],
  ])('%s', (_name, text, file, message) => {
    expect(() => parseDocument(text, file)).toThrow(message)
  })
})

describe('completeDefinition', () => {
  test('fills in what a person need not write', () => {
    const given = {
      nodes: [
        { id: 'a', typeId: 'core.noop' },
        { id: 'b', typeId: 'core.noop' },
      ],
      edges: [{ sourceNodeId: 'a', targetNodeId: 'b' }],
    }
    expect(completeDefinition(given, 'mine')).toEqual({
      id: 'mine',
      name: 'mine',
      version: '1.0.0',
      nodes: [
        { id: 'a', typeId: 'core.noop', name: 'a', position: { x: 0, y: 0 }, config: {}, inputs: {} },
        { id: 'b', typeId: 'core.noop', name: 'b', position: { x: 200, y: 0 }, config: {}, inputs: {} },
      ],
      edges: [{ id: 'edge-1', sourceNodeId: 'a', targetNodeId: 'b' }],
      triggers: [],
      variables: [],
      metadata: {},
      settings: {},
    })
  })

  test('changes nothing that is there, and never makes an edge id twice', () => {
    const whole = completeDefinition(
      { nodes: [{ id: 'a', name: 'A', config: { x: 1 } }], edges: [{}, { id: 'edge-1' }] },
      'w',
    )
    expect(whole.nodes).toMatchObject([{ name: 'A', config: { x: 1 } }])
    expect(whole.edges).toEqual([{ id: 'edge-1-' }, { id: 'edge-1' }])
    expect(completeDefinition(whole, 'other')).toEqual(whole)
  })
})
