import type { ToolCall, ToolSaid } from '../host-tool.js'
import { termsOf } from '../terms.js'
import type { Builtin } from './builtins.js'

const TOOL_ID = 'assay:artifact.create'
const MAX_BYTES = 256 * 1024

/** Gives the run something to keep. Nothing happens here: the run keeps it when it is told, and only once. */
export const artifactCreate: Builtin = ({ settings }) => ({
  tool: {
    shown: {
      terms: termsOf(TOOL_ID, 'native', { repeat: 'safe' }, settings.rules),
      title: 'Store an artifact',
      description:
        'Stores a text or a JSON value as an artifact of this run, for people and for other agents of the run. The ids of stored artifacts are told by assay:artifact.list.',
      inputSchema: {
        type: 'object',
        properties: {
          artifactType: {
            type: 'string',
            pattern: '^[A-Za-z0-9._/-]{1,128}$',
            description: 'What kind of artifact it is, such as report or text/markdown',
          },
          content: { description: 'A text or any JSON value; at most 256 KiB as JSON' },
        },
        required: ['artifactType', 'content'],
        additionalProperties: false,
      },
      safetyTier: 'write',
      source: 'host-extension',
    },
    invoke,
  },
})

async function invoke({ args: { artifactType, content = null } }: ToolCall): Promise<ToolSaid> {
  const size = Buffer.byteLength(JSON.stringify(content))
  if (size > MAX_BYTES) {
    const text = `Not stored: the content has ${size} bytes as JSON, and at most ${MAX_BYTES} are kept.`
    return { ok: false, code: 'tool_refused', text }
  }
  const artifact = { artifactType: String(artifactType), content }
  return { ok: true, text: 'Stored. assay:artifact.list tells its id.', artifact }
}
