import { spawn } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { ownPackage } from '../../src/cli/commands/project/own-package.js'
import { observe, repository, temporaryFolder } from './assay-process.js'
import { runHere } from './command-line.js'

let folder: string
let project: string

beforeEach(() => {
  folder = temporaryFolder()
  project = path.join(folder, 'My Project')
})

afterEach(() => fs.rmSync(folder, { recursive: true }))

const templates = path.join(repository, 'templates')
const TEMPLATES = fs.readdirSync(templates).filter(name => name !== 'models')
const MODELS = fs.readdirSync(path.join(templates, 'models')).map(name => path.parse(name).name)

const filesOf = (place: string): string[] =>
  fs
    .readdirSync(place, { recursive: true, encoding: 'utf8' })
    .filter(name => fs.statSync(path.join(place, name)).isFile())
    .sort()

const read = (file: string) => fs.readFileSync(path.join(project, file), 'utf8')

/** The project's own tests, by the program of this repository in the place where npm would put it. */
async function ownTests() {
  fs.mkdirSync(path.join(project, 'node_modules'))
  fs.symlinkSync(repository, path.join(project, 'node_modules/assay'))
  const { scripts } = JSON.parse(read('package.json'))
  expect(scripts.test).toBe('node --test')
  const { NODE_TEST_CONTEXT: _, ...env } = process.env
  return observe(spawn(process.execPath, ['--test'], { cwd: project, env: { ...env, NO_COLOR: '1' } })).done
}

test('there is a template for each thing that is promised, and a model for each', () => {
  expect([TEMPLATES.sort(), MODELS.sort()]).toEqual([
    ['checked-answer', 'release-notes', 'standing-goal', 'supervisor-team'],
    ['anthropic', 'google', 'openai', 'openai-compatible'],
  ])
})

describe.each(TEMPLATES)('%s', template => {
  test('has everything, is taken by `assay check` without a word, and its tests pass, offline', async () => {
    expect(await runHere(['init', template, project])).toMatchObject({ code: 0, stdout: `${project} made\n` })
    expect(filesOf(project)).toEqual(
      expect.arrayContaining(['.gitignore', 'README.md', 'assay.config.yaml', 'package.json', 'scripted.yaml']),
    )
    expect(await runHere(['check', project])).toMatchObject({ code: 0, stderr: '' })
    const { code, stdout } = await ownTests()
    expect(stdout).toMatch(/# pass [1-9]/)
    expect([stdout.match(/# fail (\d+)/)?.[1], code]).toEqual(['0', 0])
  }, 120_000)

  test.each(MODELS)(
    'with --model %s: the check finds no mistake, and the tests, tried with one of them, stay offline',
    async model => {
      expect((await runHere(['init', template, project, '--model', model])).code).toBe(0)
      const { models } = parse(read('assay.config.yaml'))
      expect(models.worker).not.toMatch(/^scripted/)
      const { code, stdout } = await runHere(['check', project, '--json'])
      const { problems, warnings } = JSON.parse(stdout)
      expect([code, problems]).toEqual([0, []])
      // A key is for whoever runs it to give; a price is there.
      const needsKey = model !== 'openai-compatible'
      expect(warnings).toEqual(
        needsKey ? [expect.stringMatching(/there is no secret in the variable \w+_API_KEY/)] : [],
      )
      if (model === 'openai') expect((await ownTests()).code).toBe(0)
    },
    120_000,
  )

  test('the first line of every YAML file names its schema, where npm puts it', async () => {
    await runHere(['init', template, project])
    const documents = filesOf(project).filter(name => /\.ya?ml$/.test(name) && name !== 'scripted.yaml')
    expect(documents.length).toBeGreaterThan(1)
    for (const name of documents) {
      const [, schema] = /^# yaml-language-server: \$schema=(\S+)\n/.exec(read(name)) ?? []
      const place = path.join(path.dirname(name), schema ?? 'none')
      expect(place).toMatch(/^node_modules\/assay\/schemas\//)
      expect(fs.existsSync(path.join(repository, place.replace('node_modules/assay/', '')))).toBe(true)
    }
  })

  test('its README names files and workflows that are there', async () => {
    await runHere(['init', template, project])
    const text = read('README.md')
    const [, workflow] = /assay run (\S+)/.exec(text) ?? []
    expect(fs.existsSync(path.join(project, `workflows/${workflow}.yaml`))).toBe(true)
    const named = [...text.matchAll(/`([\w./-]+(?:\/|\.yaml|\.md))`/g)].map(match => match[1] as string)
    expect(named.length).toBeGreaterThan(3)
    for (const name of named) expect(fs.existsSync(path.join(project, name)), name).toBe(true)
    // What `npx` does not find here it would fetch, and the name belongs to somebody else there.
    expect(text.replaceAll('npx --no assay', '')).not.toContain('npx')
  })
})

describe('where it is made', () => {
  test('a folder with something in it is left as it is', async () => {
    fs.mkdirSync(project)
    fs.writeFileSync(path.join(project, 'mine.txt'), 'mine')
    const { code, stderr } = await runHere(['init', 'checked-answer', project])
    expect([code, stderr]).toEqual([2, expect.stringMatching(/^error: .* is not empty; name a folder that is/)])
    expect(filesOf(project)).toEqual(['mine.txt'])
  })

  test.each([
    [
      ['init', 'checked'],
      /^error: there is no template "checked"; use checked-answer, release-notes, supervisor-team, standing-goal/,
    ],
    [['init', 'checked-answer', 'x', '--model', 'gpt'], /Allowed choices are openai, anthropic, google/],
  ])('%j is refused, and nothing is made', async (args, message) => {
    const { code, stderr } = await runHere(args)
    expect([code, stderr]).toEqual([2, expect.stringMatching(message)])
    expect(fs.existsSync(args[1] as string)).toBe(false)
  })

  test('its package.json depends on this very program by its path, and has a name that npm takes', async () => {
    await runHere(['init', 'checked-answer', project])
    const { name, dependencies } = JSON.parse(read('package.json'))
    expect(name).toBe('my-project')
    expect(path.resolve(project, dependencies.assay.replace('file:', ''))).toBe(repository)
  })
})

describe('where npm finds this very program', () => {
  const installed = (dependency: string | undefined) => {
    const root = path.join(folder, 'home/node_modules/assay')
    fs.mkdirSync(root, { recursive: true })
    if (dependency !== undefined)
      fs.writeFileSync(path.join(folder, 'home/package.json'), JSON.stringify({ dependencies: { assay: dependency } }))
    return root
  }

  test('the tarball that it was installed from', async () => {
    fs.writeFileSync(path.join(folder, 'assay-0.1.0.tgz'), '')
    expect(await ownPackage(installed('file:../assay-0.1.0.tgz'))).toBe(path.join(folder, 'assay-0.1.0.tgz'))
  })

  test.each([['file:../gone.tgz'], ['^0.1.0'], [undefined]])(
    'its folder, where it was installed as %s',
    async given => {
      const root = installed(given)
      expect(await ownPackage(root)).toBe(root)
    },
  )

  test('the clone', async () => {
    expect(await ownPackage(folder)).toBe(folder)
  })
})
