import fs from 'node:fs/promises'
import path from 'node:path'
import { type Command, Option } from 'commander'
import pc from 'picocolors'
import type { Cli } from '../../cli.js'
import { programRoot } from '../../serving/served-config.js'
import { UsageError } from '../../terminal/usage-error.js'
import { ownPackage } from './own-package.js'

/**
 * Makes a project of one's own from a template: files of `templates/` of the package, as they are. Only the models of its
 * configuration are chosen, and its package.json is made, which names where this program is found.
 */

const TEMPLATES = {
  'checked-answer': 'an answer with sources, and a gate that checks it',
  'release-notes': 'notes from a git log, held against the log, approved by a person and published once',
  'supervisor-team': 'a supervisor that decides who of its team works next',
  'standing-goal': 'a checklist that is worked on, run after run, until a gate says that it is done',
}
const MODELS = ['openai', 'anthropic', 'google', 'openai-compatible']
const templates = path.join(programRoot, 'templates')

export function addInit(program: Command, { terminal }: Cli): void {
  const about = Object.entries(TEMPLATES).map(([name, what]) => `  ${name.padEnd(16)} ${what}`)
  program
    .command('init')
    .description('make a project of your own from a template')
    .argument('[template]', `one of ${Object.keys(TEMPLATES).join(', ')}`, 'checked-answer')
    .argument('[folder]', 'where to; the name of the template if none is named')
    .addOption(new Option('--model <provider>', 'whose model agents use (default: an offline one)').choices(MODELS))
    .addHelpText('after', ['\ntemplates:', ...about].join('\n'))
    .action(async (template: string, folder: string | undefined, { model }: { readonly model?: string }) => {
      if (!Object.hasOwn(TEMPLATES, template))
        throw new UsageError(
          `there is no template ${JSON.stringify(template)}; use ${Object.keys(TEMPLATES).join(', ')}`,
        )
      const place = folder ?? template
      await make(template, path.resolve(place), model)
      terminal.out(`${place} made`)
      const steps = [`cd ${place}`, 'npm install', 'npm run check', 'npm test', 'npm run dev']
      for (const step of steps) terminal.note(`${pc.dim('next:')}  ${step}`)
    })
}

async function make(template: string, place: string, model: string | undefined): Promise<void> {
  await fs.mkdir(place, { recursive: true })
  if ((await fs.readdir(place)).length > 0)
    throw new UsageError(`${place} is not empty; name a folder that is, or a new one`)
  await fs.cp(path.join(templates, template), place, { recursive: true })
  // Packed by npm under this name: one with a dot in front is left out.
  await fs.rename(path.join(place, 'gitignore'), path.join(place, '.gitignore'))
  if (model !== undefined) await chooseModel(path.join(place, 'assay.config.yaml'), model)
  await fs.writeFile(path.join(place, 'package.json'), `${JSON.stringify(await manifestFor(place), null, 2)}\n`)
}

/** The part of the configuration between these two lines. */
const MODELS_PART = /(?<=^# models\n)[\s\S]*?(?=^# end of models\n)/m

async function chooseModel(file: string, model: string): Promise<void> {
  const chosen = await fs.readFile(path.join(templates, 'models', `${model}.yaml`), 'utf8')
  const text = await fs.readFile(file, 'utf8')
  await fs.writeFile(
    file,
    text.replace(MODELS_PART, () => chosen),
  )
}

async function manifestFor(place: string) {
  const own = path.relative(place, await ownPackage())
  return {
    name:
      path
        .basename(place)
        .toLowerCase()
        .replace(/[^a-z0-9-]+/g, '-')
        .replace(/^-+|-+$/g, '') || 'project',
    private: true,
    type: 'module',
    scripts: { start: 'assay serve', dev: 'assay dev', check: 'assay check', test: 'node --test' },
    dependencies: { assay: `file:${own.split(path.sep).join('/')}` },
  }
}
