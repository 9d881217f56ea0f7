import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { main } from '../../../src/cli/main.js'
import { loadConfig } from '../../../src/config.js'
import { createHost, type Host } from '../../../src/host.js'
import { freePort } from '../../support/free-port.js'

const WORKFLOW = `
nodes:
  - { id: write, typeId: core.agent, config: { agentId: local.acme.writer, resultVariable: report } }
`

const AGENT = '---\nagentId: local.acme.writer\nmodelClass: writing\n---\nWrite the report.\n'

const GATE = `
name: The report is right
position: { workflow_id: newsroom, phase_id: write, placement: phase_exit }
intent_refs: [true-reports]
knowledge_refs: [house-style]
evaluation_criteria:
  - dimension: correctness
    scale: { min: 1, max: 5, type: integer }
    pass_threshold: 4
  - dimension: builds
    scale: { min: 0, max: 1, type: integer }
    pass_threshold: 1
    probes:
      - { type: command, command: [make, check] }
verifier_requirements: {}
gate_behaviour: {}
`

const INTENT = 'type: operational\ntitle: Reports are true\nstatement: Every claim has a source.\n'

let folder: string
let host: Host | undefined

const write = (file: string, text: string) => {
  fs.mkdirSync(path.join(folder, path.dirname(file)), { recursive: true })
  fs.writeFileSync(path.join(folder, file), text)
}

beforeEach(() => {
  folder = fs.mkdtempSync(path.join(os.tmpdir(), 'assay-standards-'))
  write('project/workflows/newsroom.yaml', WORKFLOW)
  write('project/agents/writer.md', AGENT)
  write('project/gates/report.yaml', GATE)
  write('project/intents/true-reports.yaml', INTENT)
  write('project/knowledge/house-style.md', '# House style\n\nShort sentences.\n')
})
afterEach(async () => {
  await host?.stop()
  host = undefined
  fs.rmSync(folder, { recursive: true })
})

async function start(): Promise<void> {
  await host?.stop()
  host = undefined
  const flags = {
    project: path.join(folder, 'project'),
    data: path.join(folder, 'data'),
    port: String(await freePort()),
    'log.level': 'silent',
  }
  const made = await createHost(loadConfig(flags, {}, folder))
  await made.start()
  host = made
}

async function assay(...args: string[]) {
  const [out, notes]: [string[], string[]] = [[], []]
  const terminal = {
    out: (line: string) => void out.push(line),
    note: (line: string) => void notes.push(line),
    draw: () => undefined,
    isLive: false,
    columns: 120,
    readStdin: async () => '',
  }
  const code = await main(['--data', path.join(folder, 'data'), ...args], terminal)
  return { code, out: out.join('\n'), notes: notes.join('\n') }
}

const ids = async (collection: string): Promise<string[]> => {
  const answer = JSON.parse((await assay(collection, 'list', '--json')).out)
  return answer[collection].map(({ id }: { id: string }) => id)
}

describe('the standards of a project', () => {
  test('a probe looks where the agent’s return schema lets something stand, or the host does not start', async () => {
    const schema = { type: 'object', properties: { text: { type: 'string' } }, additionalProperties: false }
    write('project/agents/schemas/report.json', JSON.stringify(schema))
    write(
      'project/agents/reporter.md',
      '---\nagentId: local.acme.reporter\nmodelClass: writing\nhandoff:\n  returnSchemaRef: schemas/report.json\n---\nWrite.\n',
    )
    write('project/workflows/newsroom.yaml', WORKFLOW.replace('local.acme.writer', 'local.acme.reporter'))
    const probing = (at: string) =>
      GATE.replace('{ type: command, command: [make, check] }', `{ type: regex, path: ${at}, pattern: x }`)
    write('project/gates/report.yaml', probing('/result/text'))
    await expect(start()).rejects.toMatchObject({
      problems: [
        'gates/report.yaml: gate "report": probe builds-1 of builds: path /result/text leads nowhere by the return schema of agent local.acme.reporter; it has /text.',
      ],
    })
    write('project/gates/report.yaml', probing('/text'))
    await start()
    expect(await ids('gates')).toEqual(['report'])
  })

  test('are there when the host starts, shared with everybody, and go with their files', async () => {
    await start()
    const { code, out } = await assay('gates', 'list')
    expect([code, out]).toEqual([0, expect.stringMatching(/^report +The report is right +1 +project/m)])
    const shown = JSON.parse((await assay('gates', 'show', 'report')).out)
    expect(shown).toMatchObject({ gate_id: 'report', gate_behaviour: { blocking: true, max_attempts: 2 } })
    expect(JSON.parse((await assay('knowledge', 'show', 'house-style')).out)).toEqual({
      entry_id: 'house-style',
      title: 'House style',
      text: '# House style\n\nShort sentences.',
    })
    const deleted = await assay('gates', 'delete', 'report')
    expect([deleted.code, deleted.notes]).toEqual([2, expect.stringContaining('standard_shared')])

    fs.rmSync(path.join(folder, 'project/gates/report.yaml'))
    fs.rmSync(path.join(folder, 'project/knowledge/house-style.md'))
    write('project/assay.config.yaml', 'retired: [report]\n')
    await start()
    expect([await ids('gates'), await ids('intents'), await ids('knowledge')]).toEqual([[], ['true-reports'], []])
  })

  test('a gate whose file is gone keeps its workflow from starting, until the configuration says that this is meant', async () => {
    await start()
    // With its workflow, too: what was registered of that can still be named.
    for (const file of ['gates/report.yaml', 'workflows/newsroom.yaml']) fs.rmSync(path.join(folder, 'project', file))
    await start()
    const refused = await assay('run', 'newsroom')
    expect([refused.code, refused.notes]).toEqual([2, expect.stringContaining('gate_removed')])
    expect(refused.notes).toContain('retired: [report]')
    expect((await assay('gates', 'list')).out).toMatch(/^report .*project, file is gone/m)
    // A reload makes no difference, and neither does another start.
    expect((await host?.reload())?.problems).toEqual([])
    await start()
    expect((await assay('run', 'newsroom')).notes).toContain('gate_removed')
    expect(JSON.parse((await assay('runs', 'list', '--json')).out).runs).toEqual([])

    write('project/assay.config.yaml', 'retired: [report]\nmodels:\n  worker: scripted:scripted\n')
    write('project/workflows/newsroom.yaml', WORKFLOW)
    await start()
    expect((await assay('run', 'newsroom')).code).not.toBe(2)
    expect((await assay('gates', 'list')).out).not.toContain('report')
  })

  test('that cannot hold keep the host from starting; every problem names its file', async () => {
    write('project/gates/broken.yaml', GATE.replace('phase_id: write', 'phase_id: wrote'))
    write('project/gates/lost.yaml', GATE.replace('true-reports', 'gone'))
    write('project/intents/bad.yaml', INTENT.replace('operational', 'wish'))
    await expect(start()).rejects.toMatchObject({
      problems: [
        expect.stringMatching(/^intents\/bad\.yaml: intent "bad": type must be one of/),
        expect.stringMatching(/^gates\/broken\.yaml: gate "broken": position\.phase_id "wrote" is not a node/),
        expect.stringMatching(/^gates\/lost\.yaml: gate "lost": intent_refs: there is no intent "gone"/),
      ],
    })
  })
})

test('the project of the guide starts', async () => {
  const GUIDE = fs.readFileSync(path.resolve(import.meta.dirname, '../../../docs/guides/verification.md'), 'utf8')
  fs.rmSync(path.join(folder, 'project/gates/report.yaml'))
  const files = [...GUIDE.matchAll(/^```\w+\n(?:# |<!-- )(\S+\/\S+?)(?: -->)?\n(.*?)^```/gms)]
  for (const [, file = '', text = ''] of files) write(`project/${file}`, text)
  await start()
  expect([await ids('gates'), await ids('knowledge')]).toEqual([['report'], ['house-style']])
  expect(await ids('intents')).toEqual(['no-personal-data', 'true-reports'])
  const { document } = JSON.parse((await assay('gates', 'show', 'report', '--json')).out)
  expect(document.multi_verifier).toEqual({
    verifier_count: 3,
    quorum_strategy: 'majority',
    min_agree: 2,
    early_stop: true,
  })
})

describe('on the command line', () => {
  test('documents are put, replaced, shown and deleted', async () => {
    await start()
    write('notes.md', '# Notes\n\nWhat we learnt.\n')
    write(
      'own.yaml',
      GATE.replace(/ {2}- dimension: builds[\s\S]*?(?=verifier)/, '').replace('[house-style]', '[notes]'),
    )
    const put = async (collection: string, file: string) => assay(collection, 'put', path.join(folder, file))
    expect(await put('knowledge', 'notes.md')).toMatchObject({ code: 0, out: 'notes registered, version 1' })
    expect(await put('gates', 'own.yaml')).toMatchObject({ code: 0, out: 'own registered, version 1' })
    expect(await ids('gates')).toEqual(['own', 'report'])
    expect(await assay('knowledge', 'delete', 'notes')).toMatchObject({
      code: 2,
      notes: expect.stringMatching(/referred to by gate own; change or delete it first/),
    })
    expect(await assay('gates', 'delete', 'own')).toMatchObject({ code: 0, out: 'own deleted' })
    expect(await assay('knowledge', 'delete', 'notes')).toMatchObject({ code: 0, out: 'notes deleted' })
    expect((await assay('gates', 'show', 'own')).code).toBe(2)
  })

  test('a file that is not there, and a program that came over the API, are refused', async () => {
    await start()
    expect(await assay('gates', 'put', 'nowhere.yaml')).toMatchObject({
      code: 2,
      notes: expect.stringContaining('nowhere.yaml: no such file'),
    })
    write('program.yaml', GATE)
    expect(await assay('gates', 'put', path.join(folder, 'program.yaml'))).toMatchObject({
      code: 2,
      notes: expect.stringContaining('taken from the project folder only'),
    })
  })
})
