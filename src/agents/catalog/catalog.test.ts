import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { afterAll, beforeEach, describe, expect, test } from 'vitest'
import { ManualClock } from '../../testing/manual-clock.js'
import { createSchemaChecker } from '../../user-schema/schema-checker.js'
import { createCatalog } from './catalog.js'

const schemas = createSchemaChecker()
afterAll(() => schemas.close())

let dir: string
beforeEach(() => {
  const top = fs.mkdtempSync(path.join(os.tmpdir(), 'assay-agents-'))
  dir = path.join(top, '7 My Project')
  fs.mkdirSync(dir)
  fs.writeFileSync(path.join(top, 'outside.md'), 'not for agents')
  return () => fs.rmSync(top, { recursive: true })
})

function write(file: string, text: string | object): void {
  fs.mkdirSync(path.join(dir, path.dirname(file)), { recursive: true })
  fs.writeFileSync(path.join(dir, file), typeof text === 'string' ? text : JSON.stringify(text))
}

const silent = () => undefined
const open = (capabilities: readonly string[] = []) =>
  createCatalog({
    project: dir,
    watch: false,
    log: { info: silent, warn: silent, error: silent },
    schemas,
    clock: new ManualClock(),
    capabilities: new Set(capabilities),
  })

const MANIFEST = { agentId: 'local.acme.writer', persona: 'Writer', modelClass: 'writing', systemPrompt: 'Write.' }

describe('manifests', () => {
  test('a project without agents, and a host without a project, have none', async () => {
    expect((await open()).list()).toEqual([])
    fs.rmdirSync(dir)
    const catalog = await open()
    expect([catalog.list(), catalog.problems()]).toEqual([[], []])
  })

  test('R-MANIF-1: YAML, JSON and Markdown are read, and listed by id', async () => {
    write('agents/z.yaml', 'agentId: local.acme.b\npersona: B\nmodelClass: general\nsystemPrompt: Do b.')
    write('agents/a.json', { ...MANIFEST, agentId: 'local.acme.c' })
    write('agents/m.md', '---\nagentId: local.acme.a\nmodelClass: coding\n---\n\n# You code\n\n---\nWell.\n')
    write('agents/README.md', 'About these agents')
    write('agents/.hidden.yaml', 'nothing')
    const catalog = await open()
    expect(catalog.problems()).toEqual([])
    expect(catalog.list().map(({ manifest, systemPrompt }) => [manifest.agentId, systemPrompt])).toEqual([
      ['local.acme.a', '# You code\n\n---\nWell.'],
      ['local.acme.b', 'Do b.'],
      ['local.acme.c', 'Write.'],
    ])
    expect(catalog.get('local.acme.a')?.manifest).toMatchObject({ persona: 'm', modelClass: 'coding' })
    expect(catalog.get('local.acme.A')).toBeUndefined()
  })

  test('a project agent needs no id and no persona of its own', async () => {
    write('agents/Brief Writer.md', '---\r\nmodelClass: writing\r\nlabel: Scribe\r\n---\r\nWrite.')
    const [agent] = (await open()).list()
    expect(agent).toMatchObject({
      manifest: { agentId: 'local.my-project.brief-writer', persona: 'Scribe' },
      packName: 'local.my-project',
      packVersion: '1.0.0',
    })
  })

  test('R-MANIF-5: what a manifest refers to is read with it', async () => {
    write('agents/w.json', {
      ...MANIFEST,
      systemPrompt: undefined,
      systemPromptRef: './w/prompt.md',
      handoff: { taskSchemaRef: 'w/task.json', returnSchemaRef: 'w/return.yaml' },
    })
    write('agents/w/prompt.md', '\nWrite well.\n')
    write('agents/w/task.json', { type: 'string' })
    write('agents/w/return.yaml', 'type: object')
    const catalog = await open()
    expect(catalog.problems()).toEqual([])
    expect(catalog.get('local.acme.writer')).toMatchObject({
      systemPrompt: 'Write well.',
      taskSchema: { type: 'string' },
      returnSchema: { type: 'object' },
    })
  })

  test('R-MANIF-5: a system prompt may be a template of the project', async () => {
    write('agents/w.json', { ...MANIFEST, systemPrompt: undefined, systemPromptRef: 'prompt:writer' })
    write('prompts/writer.yaml', 'kind: system\ntext: Write about {{topic}}.')
    const agent = (await open()).get('local.acme.writer')
    expect(agent).toMatchObject({
      systemPrompt: 'Write about {{topic}}.',
      systemTemplate: { templateId: 'writer', version: '1.0.0' },
    })
  })

  test('the digest is that of all that makes the agent, and of nothing else', async () => {
    write('agents/w.yaml', 'modelClass: general\nsystemPrompt: One.\n# a remark')
    const digest = async () => (await open()).list()[0]?.digest
    const first = await digest()
    expect(first).toMatch(/^[0-9a-f]{64}$/)
    write('agents/w.yaml', 'systemPrompt: One.\nmodelClass: general')
    expect(await digest()).toBe(first)
    write('agents/w.yaml', 'systemPrompt: Two.\nmodelClass: general')
    expect(await digest()).not.toBe(first)
  })

  test.each<[string, object, RegExp]>([
    ['an unknown field', { tools: [] }, /tools is not a known field; remove it: the known fields are agentId, persona/],
    [
      'an id without a tier',
      { agentId: 'writer' },
      /agentId must be a tier .* such as local\.acme\.writer.*; got "writer"/,
    ],
    ['an id of the host', { agentId: 'host:writer' }, /agentId must be a tier/],
    ['an id too long', { agentId: `local.a.${'b'.repeat(300)}` }, /256 characters at most; got text of 308 characters/],
    ['an empty persona', { persona: '' }, /persona must be text of 1 to 200 characters; got ""/],
    ['no class', { modelClass: undefined }, /modelClass is required: one of reasoning, writing, .*; add it/],
    ['a class of AgentRef', { modelClass: 'chat' }, /modelClass must be one of reasoning, writing, .*; got "chat"/],
    ['two prompts', { systemPromptRef: 'p.md' }, /systemPrompt and systemPromptRef are both there; keep one/],
    ['no prompt', { systemPrompt: undefined }, /systemPrompt is required; write it here/],
    [
      'an endless prompt',
      { systemPrompt: 'x'.repeat(65_537) },
      /systemPrompt must be text of 1 to 65536 .*; got text of 65537/,
    ],
    ['a tool without a scope', { toolAllowlist: ['read'] }, /toolAllowlist\[0\] must be SCOPE:TOOL, .*; got "read"/],
    [
      'tools that are no list',
      { toolAllowlist: 'mcp:a.b' },
      /toolAllowlist must be a list of at most 256 items; got "mcp:a.b"; write \["mcp:a.b"\]/,
    ],
    ['a capability twice', { requiresCapabilities: ['a', 'a'] }, /requiresCapabilities has "a" twice; give each once/],
    [
      'a memory that does not exist',
      { memoryShape: { short: true } },
      /memoryShape\.short is not a known field; remove it/,
    ],
    [
      'a memory that is not a flag',
      { memoryShape: { longTerm: 'yes' } },
      /memoryShape\.longTerm must be true or false/,
    ],
    [
      'a threshold beyond 1',
      { confidence: { defaultThreshold: 70 } },
      /confidence\.defaultThreshold must be a number from 0 to 1; got 70/,
    ],
    ['a handoff that is text', { handoff: 'task.json' }, /handoff must be an object; got "task\.json"/],
    ['a label too long', { label: 'l'.repeat(101) }, /label must be text of 1 to 100/],
    ['a description too long', { description: 'd'.repeat(501) }, /description must be text of 0 to 500/],
    [
      'a library with a bad name',
      { promptLibraryRef: 'Acme' },
      /promptLibraryRef must be the name of a prompt library/,
    ],
    [
      'an override of no kind',
      { promptOverrides: { assistant: 'prompt:a' } },
      /promptOverrides\.assistant is not a known field/,
    ],
    [
      'an override that is no reference',
      { promptOverrides: { user: 'writer' } },
      /promptOverrides\.user must be prompt:ID/,
    ],
    [
      'a schema that is not there',
      { handoff: { taskSchemaRef: 'no.json' } },
      /agents\/no\.json: there is no such file/,
    ],
    [
      'a prompt that is not there',
      { systemPrompt: undefined, systemPromptRef: 'prompt:no' },
      /systemPromptRef: there is no prompt:no/,
    ],
    [
      'a bad prompt reference',
      { systemPrompt: undefined, systemPromptRef: 'prompt:No!' },
      /systemPromptRef must be prompt:ID/,
    ],
  ])('R-MANIF-5: %s is refused, with file, field and fix', async (_what, change, problem) => {
    write('agents/bad.json', { ...MANIFEST, ...change })
    write('agents/good.json', { ...MANIFEST, agentId: 'local.acme.good' })
    const catalog = await open()
    expect(catalog.list().map(({ manifest }) => manifest.agentId)).toEqual(['local.acme.good'])
    expect(catalog.problems()).toHaveLength(1)
    expect(catalog.problems()[0]).toMatch(problem)
    expect(catalog.problems()[0]).toMatch(/^agents\/(bad|no)\.json: /)
  })

  test.each<[string, string, RegExp]>([
    ['without front matter', 'You write.', /must begin with the manifest between two lines of ---/],
    ['whose front matter is a list', '---\n- a\n---\nx', /the front matter must hold fields/],
    ['whose front matter is broken', '---\na: [\n---\nx', /not valid YAML/],
    [
      'with two prompts',
      '---\nmodelClass: general\nsystemPrompt: a\n---\nb',
      /in the front matter and below it; keep one/,
    ],
    ['with a prompt and a reference', '---\nmodelClass: general\nsystemPromptRef: a.md\n---\nb', /are both there/],
    ['with no prompt', '---\nmodelClass: general\n---\n \n', /systemPrompt is required; write it here, below/],
    ['with a hostile key', '---\n__proto__: {}\n---\nx', /__proto__ is not allowed/],
  ])('a Markdown file %s is refused', async (_what, text, problem) => {
    write('agents/w.md', text)
    expect((await open()).problems()).toEqual([expect.stringMatching(problem)])
  })

  test('a file whose name gives no id must say one', async () => {
    write('agents/42.yaml', 'modelClass: general\nsystemPrompt: x')
    expect((await open()).problems()).toEqual([
      expect.stringMatching(/^agents\/42\.yaml: agentId is required: a tier .* local\.acme\.writer, .*; add it$/),
    ])
  })

  test('all problems of a file are told at once', async () => {
    write('agents/w.yaml', 'agentId: x\nmodelClass: y')
    expect((await open()).problems()).toHaveLength(3)
  })

  test('a schema that no value could be checked by is refused, with its own file', async () => {
    write('agents/w.json', { ...MANIFEST, handoff: { returnSchemaRef: 'r.json' } })
    write('agents/r.json', { $ref: 'http://127.0.0.1:1/x' })
    expect((await open()).problems()).toEqual([
      expect.stringMatching(/^agents\/r\.json: the schema refers to .*; only references within the schema/),
    ])
  })

  test('two agents with one id are a problem that names both files', async () => {
    write('agents/a.json', MANIFEST)
    write('agents/b.json', { ...MANIFEST, systemPrompt: 'Other.' })
    const catalog = await open()
    expect(catalog.problems()).toEqual([
      'agents/b.json: local.acme.writer is already in agents/a.json; give one of them another name',
    ])
    expect(catalog.get('local.acme.writer')?.systemPrompt).toBe('Write.')
  })
})

describe('no reference leads out of the folder', () => {
  test.each([
    ['../../outside.md', /must not lead upwards/],
    ['w/../../../outside.md', /must not lead upwards/],
    ['/etc/passwd', /must be a path relative to the file/],
    ['C:\\secrets.txt', /must be a path relative to the file/],
    ['..\\..\\outside.md', /must not have \\/],
    ['file:///etc/passwd', /must be a path relative to the file/],
    ['https://example.com/p.md', /must be a path relative to the file/],
    ['a\u0000b', /control characters/],
    ['w/link.md', /is a link out of the folder/],
    ['linked/outside.md', /is a link out of the folder/],
    ['w', /is not a file/],
    ['loop', /there is no such file/],
  ])('systemPromptRef %j is refused', async (systemPromptRef, problem) => {
    write('agents/w/x.md', 'x')
    fs.symlinkSync(path.join(dir, '..', 'outside.md'), path.join(dir, 'agents/w/link.md'))
    fs.symlinkSync(path.join(dir, '..'), path.join(dir, 'agents/linked'))
    fs.symlinkSync('loop', path.join(dir, 'agents/loop'))
    write('agents/w.json', { ...MANIFEST, systemPrompt: undefined, systemPromptRef })
    const catalog = await open()
    expect(catalog.list()).toEqual([])
    expect(catalog.problems()).toEqual([expect.stringMatching(problem)])
    expect(catalog.problems().join()).not.toContain('not for agents')
  })

  test('a manifest, or a pack, that is a link out of the project is refused', async () => {
    const outside = path.join(dir, '..', 'pack')
    fs.mkdirSync(outside)
    fs.writeFileSync(path.join(outside, 'pack.json'), JSON.stringify({ name: 'local.acme.p', version: '1.0.0' }))
    fs.mkdirSync(path.join(dir, 'packs'))
    fs.symlinkSync(outside, path.join(dir, 'packs/p'))
    write('agents/ok.json', MANIFEST)
    fs.symlinkSync(path.join(dir, '..', 'outside.md'), path.join(dir, 'agents/evil.md'))
    const catalog = await open()
    expect(catalog.problems()).toEqual([
      expect.stringMatching(/^packs\/p\/pack\.json: is in a folder outside the project/),
      expect.stringMatching(/^agents\/evil\.md: is a link out of the folder/),
    ])
    expect(catalog.list()).toHaveLength(1)
  })

  test('a link within the project is followed', async () => {
    write('shared/p.md', 'Shared.')
    write('agents/w.json', { ...MANIFEST, systemPrompt: undefined, systemPromptRef: 'p.md' })
    fs.symlinkSync('../shared/p.md', path.join(dir, 'agents/p.md'))
    const catalog = await open()
    // `p.md` lies among the manifests and is none.
    expect(catalog.problems()).toEqual([])
    expect(catalog.get('local.acme.writer')?.systemPrompt).toBe('Shared.')
  })
})

const pack = (name: string, more: object = {}) => ({ name: `vendor.acme.${name}`, version: '1.2.0', ...more })

describe('packs', () => {
  test('bring agents and prompts under their own name and version', async () => {
    write('packs/desk/pack.json', pack('desk', { agents: ['a.json', 'more/b.md'] }))
    write('packs/desk/a.json', {
      ...MANIFEST,
      agentId: 'vendor.acme.a',
      systemPrompt: undefined,
      systemPromptRef: 'prompt:own',
    })
    write('packs/desk/more/b.md', '---\nagentId: vendor.acme.desk.b\nmodelClass: general\n---\nBe b.')
    write('packs/desk/prompts/own.json', { kind: 'system', text: 'The own one of the pack.' })
    write('packs/desk/not-listed.json', { nothing: true })
    write('packs/notes.txt', 'beside the packs')
    // The project has a prompt of the same name; each means its own.
    write('prompts/own.json', { kind: 'system', text: 'That of the project.' })
    const catalog = await open()
    expect(catalog.problems()).toEqual([])
    expect(catalog.get('vendor.acme.a')).toMatchObject({
      packName: 'vendor.acme.desk',
      packVersion: '1.2.0',
      systemPrompt: 'The own one of the pack.',
    })
    expect(catalog.get('vendor.acme.desk.b')?.systemPrompt).toBe('Be b.')
    expect(catalog.prompt({ templateId: 'own' })).toMatchObject({ ok: false, code: 'prompt_ref_ambiguous' })
  })

  test.each<[string, object, RegExp]>([
    ['an unknown field', { nodes: [] }, /pack\.json: nodes is not a known field/],
    ['a name without a tier', { name: 'desk' }, /pack\.json: name must be a tier/],
    ['a version that is none', { version: '1' }, /pack\.json: version must be a version such as 1\.2\.3; got "1"/],
    ['an agent outside', { agents: ['../../agents/w.json'] }, /pack\.json: agents\[0\] must be the path of a/],
    ['an agent that is not there', { agents: ['no.json'] }, /packs\/p\/no\.json: there is no such file/],
    ['an agent that must say its id', { agents: ['b.md'] }, /packs\/p\/b\.md: agentId is required: a tier/],
    [
      'a range that is none',
      { peerDependencies: { a: { version: 'new' } } },
      /peerDependencies\.a\.version must be 1\.2\.3, \^1\.2\.3/,
    ],
  ])('with %s are refused', async (_what, change, problem) => {
    write('packs/p/pack.json', pack('p', change))
    write('packs/p/b.md', '---\nmodelClass: general\n---\nBe b.')
    expect((await open()).problems()).toEqual([expect.stringMatching(problem)])
  })

  test('without a pack.json are refused', async () => {
    write('packs/p/a.json', MANIFEST)
    expect((await open()).problems()).toEqual(['packs/p/pack.json: there is no such file'])
  })

  test('R-MANIF-6: without a peer they need are refused, and so is whoever needs them', async () => {
    write('packs/a/pack.json', pack('a', { agents: ['a.json'], peerDependencies: { 'vendor.acme.none': {} } }))
    write('packs/b/pack.json', pack('b', { agents: ['a.json'], peerDependencies: { 'vendor.acme.a': {} } }))
    write(
      'packs/c/pack.json',
      pack('c', { agents: ['a.json'], peerDependencies: { 'vendor.acme.d': { version: '^2.0.0' } } }),
    )
    write('packs/d/pack.json', pack('d', { agents: ['a.json'] }))
    for (const name of 'abcd') write(`packs/${name}/a.json`, { ...MANIFEST, agentId: `vendor.acme.${name}` })
    const catalog = await open()
    expect(catalog.list().map(({ manifest }) => manifest.agentId)).toEqual(['vendor.acme.d'])
    expect([...catalog.problems()].sort()).toEqual([
      expect.stringMatching(
        /^packs\/a\/pack\.json: pack_peer_dependency_missing: .* vendor\.acme\.none \* \(not installed\)/,
      ),
      expect.stringMatching(
        /^packs\/b\/pack\.json: pack_peer_dependency_missing: .* vendor\.acme\.a \* \(not installed\)/,
      ),
      expect.stringMatching(
        /^packs\/c\/pack\.json: pack_peer_dependency_missing: .* \^2\.0\.0 \(1\.2\.0 is installed\)/,
      ),
    ])
  })

  test('R-MANIF-6: peers that need each other, or a capability, are admitted', async () => {
    write('packs/a/pack.json', pack('a', { peerDependencies: { 'vendor.acme.b': { version: '~1.2.0' } } }))
    write('packs/b/pack.json', pack('b', { peerDependencies: { 'vendor.acme.a': {}, 'host.workspace': {} } }))
    expect((await open(['host.workspace'])).problems()).toEqual([])
  })

  test('R-MANIF-6: what is missing and not needed is told', async () => {
    const wants = {
      peerDependencies: { 'vendor.acme.none': { optional: true } },
      requiresCapabilities: ['host.a', 'host.b'],
    }
    write('packs/a/pack.json', pack('a', { ...wants, agents: ['a.json'] }))
    write('packs/a/a.json', { ...MANIFEST, requiresCapabilities: ['host.b', 'host.c'] })
    const degraded = async (...capabilities: string[]) => (await open(capabilities)).list()[0]?.degraded
    expect(await degraded()).toEqual(['vendor.acme.none', 'host.a', 'host.b', 'host.c'])
    expect(await degraded('host.b', 'vendor.acme.none')).toEqual(['host.a', 'host.c'])
    expect(await degraded('vendor.acme.none', 'host.a', 'host.b', 'host.c')).toEqual([])
  })

  test('two packs, or a pack and the project, with one name are a problem that names both', async () => {
    write('packs/a/pack.json', pack('same'))
    write('packs/b/pack.json', pack('same', { version: '2.0.0' }))
    write('packs/c/pack.json', pack('c', { agents: ['a.json'] }))
    write('packs/c/a.json', MANIFEST)
    write('agents/w.json', MANIFEST)
    expect((await open()).problems()).toEqual([
      'packs/b/pack.json: vendor.acme.same is already in packs/a/pack.json; give one of them another name',
      'packs/c/a.json: local.acme.writer is already in agents/w.json; give one of them another name',
    ])
  })
})

describe('memory', () => {
  test.each<[object, readonly string[]]>([
    [{}, []],
    [{ scratchpad: true }, []],
    [{ longTerm: false }, []],
    [{ conversation: true }, ['read', 'write']],
    [{ scratchpad: true, longTerm: true }, ['long-term-durability']],
  ])(
    'R-MANIF-2 R-MEM-23: %j on a host without memory lacks %j, and on one with memory nothing',
    async (memoryShape, lacking) => {
      write('agents/w.json', { ...MANIFEST, memoryShape })
      expect((await open()).list()[0]).toMatchObject({
        memoryDegraded: lacking.length > 0,
        degradedMemoryDimensions: lacking,
      })
      expect((await open(['memory'])).list()[0]).toMatchObject({ memoryDegraded: false, degradedMemoryDimensions: [] })
    },
  )
})

describe('prompt files', () => {
  test.each<[string, object, RegExp]>([
    [
      'of no kind',
      { kind: undefined },
      /prompts\/p\.json: kind is required: one of system, user, few-shot, schema-hint; add it/,
    ],
    [
      'of an unknown kind',
      { kind: 'assistant' },
      /kind must be one of system, user, few-shot, schema-hint; got "assistant"/,
    ],
    ['without text', { text: '' }, /text must be text of 1 to 65536 characters; got ""/],
    ['too long', { text: 'x'.repeat(65_537) }, /got text of 65537 characters/],
    ['with a bad id', { templateId: 'P' }, /templateId must be a-z/],
    ['with a bad version', { version: 'one' }, /version must be a version such as 1\.0\.0/],
    [
      'with a secret',
      { variables: [{ name: 'k', type: 'string', required: true, source: 'secret' }] },
      /variables\[0\]\.source must be one of input, variable, context \(secrets are not put into prompts.*; got "secret"/,
    ],
    [
      'with a variable of no type',
      { variables: [{ name: 'k', required: true }] },
      /variables\[0\]\.type is required: one of string, /,
    ],
    [
      'with a name that has dots',
      { variables: [{ name: 'a.b', type: 'string', required: true }] },
      /variables\[0\]\.name must be a name of letters/,
    ],
    [
      'with a name twice',
      { variables: ['k', 'k'].map(name => ({ name, type: 'string', required: true })) },
      /variables has "k" twice/,
    ],
    [
      'with a path that is none',
      { variables: [{ name: 'k', type: 'string', required: true, extractPath: '$..x' }] },
      /extractPath must be a dotted path/,
    ],
    [
      'with dots in a placeholder',
      { text: 'Hello {{user.name}}' },
      /text has \{\{user\.name\}\}; declare a variable without dots, with extractPath/,
    ],
  ])('R-PROMPT-4: a template %s is refused', async (_what, change, problem) => {
    write('prompts/p.json', { kind: 'user', text: 'Hello', ...change })
    expect((await open()).problems()).toEqual([expect.stringMatching(problem)])
  })

  test('the latest version is found, a pinned one too, and one that is not there is not', async () => {
    write('prompts/a.yaml', 'templateId: w\nversion: 1.9.0\nkind: user\ntext: old')
    write('prompts/b.yaml', 'templateId: w\nversion: 1.10.0\nkind: user\ntext: new')
    write('prompts/c.yaml', 'templateId: w\nversion: 1.10.0\nkind: user\ntext: newer')
    const catalog = await open()
    expect(catalog.problems()).toEqual([
      'prompts/c.yaml: prompt:w@1.10.0 of local.my-project is already in prompts/b.yaml; give one of them another name',
    ])
    const textOf = (version?: string) => {
      const found = catalog.prompt({ templateId: 'w', ...(version !== undefined && { version }) })
      return found.ok ? found.template.text : found.code
    }
    expect([textOf(), textOf('1.9.0'), textOf('2.0.0')]).toEqual(['new', 'old', 'prompt_ref_unresolved'])
  })
})
