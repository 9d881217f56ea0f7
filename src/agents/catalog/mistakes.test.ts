import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { afterAll, beforeEach, describe, expect, test } from 'vitest'
import { expectTold, type Mistake, slipped } from '../../../test/support/mistakes.js'
import type { JsonObject } from '../../core/json.js'
import { ManualClock } from '../../testing/manual-clock.js'
import { createSchemaChecker } from '../../user-schema/schema-checker.js'
import { createCatalog } from './catalog.js'

const schemas = createSchemaChecker()
afterAll(() => schemas.close())

let dir: string
beforeEach(() => {
  dir = fs.mkdtempSync(path.join(os.tmpdir(), 'assay-mistakes-'))
  return () => fs.rmSync(dir, { recursive: true })
})

const silent = () => undefined

/** What whoever starts a host with this file in the project is told. */
async function toldOf(file: string, document: JsonObject): Promise<readonly string[]> {
  fs.mkdirSync(path.join(dir, path.dirname(file)), { recursive: true })
  fs.writeFileSync(path.join(dir, file), JSON.stringify(document))
  const catalog = await createCatalog({
    project: dir,
    watch: false,
    log: { info: silent, warn: silent, error: silent },
    schemas,
    clock: new ManualClock(),
    capabilities: new Set(),
  })
  return catalog.problems()
}

const MANIFEST: JsonObject = { modelClass: 'writing', systemPrompt: 'Write.', memoryShape: {}, handoff: {} }

const AGENT_MISTAKES: readonly Mistake[] = [
  [
    'a field misspelt',
    { 'memoryShape.conversatoin': true },
    'memoryShape.conversatoin',
    '',
    'did you mean memoryShape.conversation?',
  ],
  ['another spelling of a field', { tool_allowlist: [] }, 'tool_allowlist', '', 'did you mean toolAllowlist?'],
  [
    'a field one level too high',
    { defaultThreshold: 0.5 },
    'defaultThreshold',
    '',
    'it belongs at confidence.defaultThreshold',
  ],
  [
    'a field one level too deep',
    { 'handoff.toolAllowlist': [] },
    'handoff.toolAllowlist',
    '',
    'it belongs at toolAllowlist',
  ],
  [
    'a field of other frameworks',
    { temperature: 0.2 },
    'temperature',
    '',
    'remove it: the known fields are agentId, persona, modelClass',
  ],
  [
    'no class',
    { modelClass: undefined },
    'modelClass',
    '',
    'one of reasoning, writing, coding, research, classification, general; add it',
  ],
  ['a class misspelt', { modelClass: 'codeing' }, 'modelClass', '"codeing"', 'did you mean coding?'],
  ['a model for a class', { modelClass: 'gpt-5' }, 'modelClass', '"gpt-5"', 'one of reasoning, writing'],
  [
    'no prompt',
    { systemPrompt: undefined },
    'systemPrompt',
    '',
    'write it here, below the front matter, or name its file',
  ],
  ['an empty prompt', { systemPrompt: '' }, 'systemPrompt', '""', 'text of 1 to 65536 characters'],
  [
    'a prompt that is a book',
    { systemPrompt: 'x'.repeat(65_537) },
    'systemPrompt',
    'text of 65537 characters',
    '1 to 65536',
  ],
  ['a prompt in lines', { systemPrompt: ['Write.'] }, 'systemPrompt', 'a list of 1', 'text of 1 to 65536 characters'],
  ['two prompts', { systemPromptRef: 'w.md' }, 'systemPrompt', 'systemPromptRef', 'keep one of them'],
  ['an id without a tier', { agentId: 'writer' }, 'agentId', '"writer"', 'such as local.acme.writer'],
  [
    'an id in another tier',
    { agentId: 'acme.desk.writer' },
    'agentId',
    '"acme.desk.writer"',
    'core, vendor, community, private, local',
  ],
  ['a number for a persona', { persona: 7 }, 'persona', '7', 'write "7" in quotes'],
  ['nothing after the colon', { label: null }, 'label', 'null', 'text of 1 to 100 characters'],
  ['a label too long', { label: 'l'.repeat(101) }, 'label', 'text of 101 characters', 'text of 1 to 100 characters'],
  [
    'one in place of a list',
    { toolAllowlist: 'mcp:files.read' },
    'toolAllowlist',
    '"mcp:files.read"',
    'write ["mcp:files.read"]',
  ],
  [
    'tools in an object',
    { toolAllowlist: { 'mcp:files.read': true } },
    'toolAllowlist',
    'an object',
    'a list of at most 256 items',
  ],
  [
    'a tool without a scope',
    { toolAllowlist: ['read'] },
    'toolAllowlist[0]',
    '"read"',
    'SCOPE:TOOL, such as mcp:files.read',
  ],
  ['a capability twice', { requiresCapabilities: ['a', 'a'] }, 'requiresCapabilities', '"a" twice', 'give each once'],
  ['a word for a flag', { 'memoryShape.longTerm': 'no' }, 'memoryShape.longTerm', '"no"', 'write false without quotes'],
  ['a flag for an object', { memoryShape: true }, 'memoryShape', 'true', 'an object'],
  ['per cent', { confidence: { defaultThreshold: 70 } }, 'confidence.defaultThreshold', '70', 'a number from 0 to 1'],
  [
    'a number in quotes',
    { confidence: { defaultThreshold: '0.7' } },
    'confidence.defaultThreshold',
    '"0.7"',
    'write 0.7 without quotes',
  ],
  ['a number for an object', { confidence: 0.7 }, 'confidence', '0.7', 'an object'],
  [
    'a schema in place of its file',
    { 'handoff.taskSchemaRef': { type: 'object' } },
    'handoff.taskSchemaRef',
    'an object',
    'text of 1 to 1024 characters',
  ],
  [
    'an override misspelt',
    { promptOverrides: { sytem: 'prompt:a' } },
    'promptOverrides.sytem',
    '',
    'did you mean promptOverrides.system?',
  ],
  [
    'an override that is no reference',
    { promptOverrides: { user: 'writer' } },
    'promptOverrides.user',
    '"writer"',
    'prompt:ID or prompt:ID@VERSION',
  ],
  [
    'a reference misspelt',
    { promptOverrides: { user: { templateID: 'a', templateId: 'a' } } },
    'promptOverrides.user.templateID',
    '',
    'did you mean promptOverrides.user.templateId?',
  ],
  ['a library by its title', { promptLibraryRef: 'Acme' }, 'promptLibraryRef', '"Acme"', 'a-z, 0-9, . _ -'],
]

describe('a person who writes an agent is told the file, the place, what is there and the way out', () => {
  test.each(AGENT_MISTAKES)('R-MANIF-5: %s', async (...mistake) => {
    expectTold(await toldOf('agents/writer.json', slipped(MANIFEST, mistake[1])), 'agents/writer.json', mistake)
  })
})

const VARIABLE = 'variables[0]'
const PROMPT: JsonObject = {
  kind: 'user',
  text: 'About {{topic}}.',
  variables: [{ name: 'topic', type: 'string', required: true, source: 'input' }],
}

const PROMPT_MISTAKES: readonly Mistake[] = [
  ['a field misspelt', { varaibles: [], variables: undefined }, 'varaibles', '', 'did you mean variables?'],
  ['another spelling of a field', { template_id: 'p' }, 'template_id', '', 'did you mean templateId?'],
  ['a field one level too high', { required: true }, 'required', '', 'it belongs at variables[].required'],
  ['a field one level too deep', { [`${VARIABLE}.kind`]: 'user' }, `${VARIABLE}.kind`, '', 'it belongs at kind'],
  [
    'a field of other tools',
    { temperature: 1 },
    'temperature',
    '',
    'remove it: the known fields are templateId, version, kind',
  ],
  ['no kind', { kind: undefined }, 'kind', '', 'one of system, user, few-shot, schema-hint; add it'],
  ['a kind misspelt', { kind: 'few_shot' }, 'kind', '"few_shot"', 'did you mean few-shot?'],
  ['a kind of other tools', { kind: 'assistant' }, 'kind', '"assistant"', 'one of system, user, few-shot, schema-hint'],
  ['no text', { text: undefined }, 'text', '', 'text of 1 to 65536 characters; add it'],
  ['an empty text', { text: '' }, 'text', '""', 'text of 1 to 65536 characters'],
  ['lines in a list', { text: ['a', 'b'] }, 'text', 'a list of 2', 'text of 1 to 65536 characters'],
  [
    'dots in a placeholder',
    { text: 'Hello {{user.name}}' },
    'text',
    '{{user.name}}',
    'declare a variable without dots, with extractPath',
  ],
  ['an id in capitals', { templateId: 'Writer' }, 'templateId', '"Writer"', 'a-z, 0-9, . _ -'],
  ['a version that YAML takes for a number', { version: 1.2 }, 'version', '1.2', 'a version such as 1.0.0'],
  ['a version with a v', { version: 'v1.0.0' }, 'version', '"v1.0.0"', 'a version such as 1.0.0'],
  ['one in place of a list', { tags: 'news' }, 'tags', '"news"', 'write ["news"]'],
  ['variables by name', { variables: { topic: 'string' } }, 'variables', 'an object', 'a list of at most 100 items'],
  ['a name in place of a variable', { variables: ['topic'] }, VARIABLE, '"topic"', 'an object'],
  [
    'a variable of no type',
    { [`${VARIABLE}.type`]: undefined },
    `${VARIABLE}.type`,
    '',
    'one of string, number, boolean, array, object; add it',
  ],
  ['a type of another language', { [`${VARIABLE}.type`]: 'str' }, `${VARIABLE}.type`, '"str"', 'one of string, number'],
  [
    'a word for a flag',
    { [`${VARIABLE}.required`]: 'true' },
    `${VARIABLE}.required`,
    '"true"',
    'write true without quotes',
  ],
  ['a source misspelt', { [`${VARIABLE}.source`]: 'inputs' }, `${VARIABLE}.source`, '"inputs"', 'did you mean input?'],
  [
    'R-PROMPT-5: a secret',
    { [`${VARIABLE}.source`]: 'secret' },
    `${VARIABLE}.source`,
    '"secret"',
    'give one to the tool that needs it',
  ],
  [
    'a name with braces',
    { [`${VARIABLE}.name`]: '{{topic}}' },
    `${VARIABLE}.name`,
    '"{{topic}}"',
    'letters, digits and _',
  ],
  [
    'a path with two dots',
    { [`${VARIABLE}.extractPath`]: '$..x' },
    `${VARIABLE}.extractPath`,
    '"$..x"',
    'such as $.order.items[0]',
  ],
  [
    'a path that took seconds to read',
    { [`${VARIABLE}.extractPath`]: `${'a'.repeat(60)}!` },
    `${VARIABLE}.extractPath`,
    'aaaa',
    'such as $.order.items[0]',
  ],
  [
    'a name twice',
    { 'variables[1]': { name: 'topic', type: 'string', required: true } },
    'variables',
    '"topic" twice',
    'give each once',
  ],
  ['hints in words', { modelHints: 'fast' }, 'modelHints', '"fast"', 'an object'],
]

describe('a person who writes a prompt is told the file, the place, what is there and the way out', () => {
  test.each(PROMPT_MISTAKES)('R-PROMPT-4: %s', async (...mistake) => {
    expectTold(await toldOf('prompts/p.json', slipped(PROMPT, mistake[1])), 'prompts/p.json', mistake)
  })
})

const PACK: JsonObject = {
  name: 'vendor.acme.desk',
  version: '1.2.0',
  peerDependencies: { 'host.x': { optional: true } },
}
const PEER = 'peerDependencies["host.x"]'
const withPeer = (peer: JsonObject | string): JsonObject => ({ 'host.x': peer })

const PACK_MISTAKES: readonly Mistake[] = [
  ['a field misspelt', { agentes: ['a.md'] }, 'agentes', '', 'did you mean agents?'],
  ['another spelling of a field', { peer_dependencies: {} }, 'peer_dependencies', '', 'did you mean peerDependencies?'],
  ['a field of npm', { license: 'MIT' }, 'license', '', 'remove it: the known fields are name, version, description'],
  ['a field one level too high', { optional: true }, 'optional', '', 'remove it: the known fields are'],
  [
    'a field one level too deep',
    { peerDependencies: withPeer({ name: 'x' }) },
    `${PEER}.name`,
    '',
    'it belongs at name',
  ],
  ['no name', { name: undefined }, 'name', '', 'such as local.acme.writer, 256 characters at most; add it'],
  ['no version', { version: undefined }, 'version', '', 'a version such as 1.2.3; add it'],
  ['a name without a tier', { name: 'desk' }, 'name', '"desk"', 'such as local.acme.writer'],
  ['a name as npm has it', { name: '@acme/desk' }, 'name', '"@acme/desk"', 'such as local.acme.writer'],
  ['half a version', { version: '1.2' }, 'version', '"1.2"', 'a version such as 1.2.3'],
  ['a number for a version', { version: 1 }, 'version', '1', 'a version such as 1.2.3'],
  ['a version with zeros', { version: '01.2.3' }, 'version', '"01.2.3"', 'a version such as 1.2.3'],
  ['one in place of a list', { agents: 'a.md' }, 'agents', '"a.md"', 'write ["a.md"]'],
  ['an agent of another kind', { agents: ['a.txt'] }, 'agents[0]', '"a.txt"', '.yaml, .yml, .json or .md'],
  ['an agent outside', { agents: ['../a.md'] }, 'agents[0]', '"../a.md"', 'in the pack'],
  ['an agent in place', { agents: [{ agentId: 'a' }] }, 'agents[0]', 'an object', 'the path of a'],
  ['an agent twice', { agents: ['a.md', 'a.md'] }, 'agents', '"a.md" twice', 'give each once'],
  ['peers in a list', { peerDependencies: ['host.x'] }, 'peerDependencies', 'a list of 1', 'an object'],
  ['a range in place of a peer', { peerDependencies: withPeer('^1.0.0') }, PEER, '"^1.0.0"', 'an object'],
  [
    'a range that is none',
    { peerDependencies: withPeer({ version: 'newest' }) },
    `${PEER}.version`,
    '"newest"',
    '1.2.3, ^1.2.3',
  ],
  [
    'a peer’s field misspelt',
    { peerDependencies: withPeer({ optinal: true }) },
    `${PEER}.optinal`,
    '',
    `did you mean ${PEER}.optional?`,
  ],
  [
    'a word for a flag',
    { peerDependencies: withPeer({ optional: 'yes' }) },
    `${PEER}.optional`,
    '"yes"',
    'write true without quotes',
  ],
  ['a description too long', { description: 'd'.repeat(1025) }, 'description', 'text of 1025 characters', '0 to 1024'],
  ['a capability twice', { requiresCapabilities: ['a', 'a'] }, 'requiresCapabilities', '"a" twice', 'give each once'],
]

describe('a person who writes a pack is told the file, the place, what is there and the way out', () => {
  test.each(PACK_MISTAKES)('R-MANIF-5: %s', async (...mistake) => {
    expectTold(await toldOf('packs/p/pack.json', slipped(PACK, mistake[1])), 'packs/p/pack.json', mistake)
  })

  test('without a mistake they are told nothing', async () => {
    for (const [file, document] of [
      ['agents/writer.json', MANIFEST],
      ['prompts/p.json', PROMPT],
      ['packs/p/pack.json', PACK],
    ] as const)
      expect(await toldOf(file, document)).toEqual([])
  })
})
