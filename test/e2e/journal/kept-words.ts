import { randomBytes } from 'node:crypto'
import type { ServerStep } from '../../support/openai-server.js'
import { finds, gate, makeGatedWorld, says, VERIFIER } from '../verification/gated-world.js'

/** A host whose agents, nodes and people keep words in memory and workspace, and read them again. */

// The beginning of a marker is looked for as well, so it begins with what no other has.
const marker = (kind: string) => `C${randomBytes(10).toString('hex')}/${kind}?`
const name = (kind: string, end = '') => `C${randomBytes(10).toString('hex')}-${kind}${end}`

export const seeds = () => ({
  memoryText: marker('memory'),
  memoryTag: marker('tag'),
  memoryId: name('id'),
  fileText: marker('file'),
  fileName: name('file', '.md'),
  /** Written by a node, of an input that is declared sensitive. */
  nodeText: marker('node'),
  /** Put there by somebody with a key. */
  peopleText: marker('people'),
  peopleName: name('people', '.md'),
  /** Of an agent whose work a gate has rejected. */
  heldText: marker('held'),
  heldFile: marker('held-file'),
  /** An agent writes it down with the rest; the host knows that it is a secret. */
  providerKey: `sk-${randomBytes(20).toString('hex')}`,
})
export type Seeds = ReturnType<typeof seeds>

const TOOLS = ['memory.put', 'memory.list', 'memory.get', 'workspace.write', 'workspace.list', 'workspace.read']
const calls = (...wanted: readonly (readonly [tool: string, args: object])[]) => ({
  kind: 'tools' as const,
  calls: wanted.map(([tool, args]) => ({ name: `assay_${tool.replace('.', '_')}`, args })),
})
const DONE = says({ done: true })

/** What is written is there from the next node on; who looks is asked again until everything has come. */
const planOf = (seed: Seeds): readonly ServerStep[] => [
  { contains: VERIFIER, reply: finds({ description: 'It is not.', detail: 'so', recommendation: 'else' }) },
  { contains: ['please keep', 'Remembered, with'], reply: DONE },
  {
    contains: ['please keep', 'for yourself'],
    reply: calls(
      ['memory.put', { content: seed.heldText, ref: 'facts', id: 'held' }],
      ['workspace.write', { path: 'held.md', content: seed.heldFile }],
    ),
  },
  {
    contains: 'please keep',
    reply: calls(
      [
        'memory.put',
        {
          content: `so ${seed.memoryText} ${seed.providerKey} it is`,
          ref: 'facts',
          id: seed.memoryId,
          tags: [seed.memoryTag],
        },
      ],
      ['workspace.write', { path: seed.fileName, content: `a ${seed.fileText}` }],
    ),
  },
  { contains: ['please look', seed.peopleText], reply: DONE },
  {
    contains: 'please look',
    reply: calls(
      ['memory.list', { ref: 'facts' }],
      ['memory.get', { ref: 'facts', id: seed.memoryId }],
      ['workspace.list', {}],
      ['workspace.read', { path: seed.fileName }],
      ['workspace.read', { path: seed.peopleName }],
    ),
  },
]

const agent = (systemPrompt: string) => ({
  systemPrompt,
  toolAllowlist: TOOLS.map(tool => `assay:${tool}`),
  handoff: { returnSchemaRef: 'schemas/done.json' },
})

export const makeKeepingWorld = (folder: string, seed: Seeds) =>
  makeGatedWorld(
    {
      folder,
      agents: { keeper: agent('You keep.'), looker: agent('You look.'), held: agent('You keep, and are judged.') },
      schemas: { done: { type: 'object', properties: { done: { type: 'boolean' } }, additionalProperties: false } },
      workflows: [
        {
          id: 'noting',
          variables: [{ name: 'note', type: 'string', sensitive: true }],
          nodes: {
            note: {
              type: 'core.memoryPut',
              config: { memoryRef: 'facts', memoryId: 'noted' },
              inputs: { content: { type: 'variable', variableName: 'note' } },
            },
          },
        },
      ],
      env: { OPENAI_API_KEY: seed.providerKey },
      plan: planOf(seed),
    },
    {
      gates: { judged: gate({ workflow_id: 'held', phase_id: 'work' }, { behaviour: { max_attempts: 1 } }) },
      intents: { purpose: { type: 'operational', title: 'Purpose', statement: 'Be so.' } },
      knowledge: { source: { title: 'Source', text: 'A source.' } },
    },
  )
