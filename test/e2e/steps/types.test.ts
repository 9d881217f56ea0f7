import fs from 'node:fs'
import path from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { checkProject } from '../../../src/check-project.js'
import { loadConfig } from '../../../src/config.js'
import { closeAll, newFolder, single, writeFiles } from './rig.js'

/** `assay check` and the TypeScript of a project. */

afterEach(closeAll)

const repository = path.resolve(import.meta.dirname, '../../..')

const step = (result: string) => `import { defineStep } from 'assay/steps'
export default defineStep({
  input: { type: 'object', properties: { word: { type: 'string' } }, required: ['word'] },
  output: { type: 'object', properties: { loud: { type: 'string' } }, required: ['loud'] },
  run({ input }) {
    return { loud: ${result} }
  },
})`

async function problemsOf(result: string, packages: readonly string[]): Promise<readonly string[]> {
  const project = newFolder()
  writeFiles(project, {
    'package.json': { type: 'module' },
    'steps/do.ts': step(result),
    'workflows/work.json': single('work', 'core.step', {
      config: { step: 'do' },
      inputs: { word: { type: 'static', value: 'a' } },
    }),
  })
  fs.mkdirSync(path.join(project, 'node_modules'))
  for (const name of packages) {
    const place = name === 'assay' ? repository : path.join(repository, 'node_modules', name)
    fs.symlinkSync(place, path.join(project, 'node_modules', name))
  }
  return (await checkProject(loadConfig({ project }, {}), { types: true })).problems
}

const BOTH = ['assay', 'typescript']

test('a step whose types are right is taken', async () => {
  expect(await problemsOf('input.word.toUpperCase()', BOTH)).toEqual([])
})

test('one that gives back what its schema does not say is told with file and line', async () => {
  expect(await problemsOf('input.word.length', BOTH)).toEqual([
    expect.stringMatching(/^steps\/do\.ts\(5,\d+\): error TS2/),
  ])
})

test('without TypeScript in the project nobody looks at types', async () => {
  expect(await problemsOf('input.word.length', ['assay'])).toEqual([])
})
