import { patternOf } from '../../../core/names.js'
import type { Builtin } from './builtins.js'
import { journalTool, LATER, lookedAt, preparedAs, textOf } from './journal-tools.js'

const PATH = {
  type: 'string',
  pattern: patternOf('filePath'),
  description: 'A path within the workspace, such as reports/may.md',
}
const VERSION = { type: 'integer', minimum: 0, description: 'The version it must have now; 0 where there must be none' }
const FILES = 200

const matchOf = (ifMatch: unknown) => (typeof ifMatch === 'number' ? { ifMatch } : {})

/** R-WS-3: files of the tenant, as they were when the node, or turn, began. */
export const WORKSPACE_TOOLS: readonly Builtin[] = [
  journalTool(
    {
      toolId: 'assay:workspace.list',
      title: 'List files',
      description: 'Lists the files of the workspace: path, version and kind, without their content.',
      safetyTier: 'read',
      scopes: ['workspace:read'],
      properties: { prefix: { type: 'string', maxLength: 256, description: 'Only paths that begin with it' } },
    },
    async (desk, seat, { args }) => {
      const prefix = typeof args.prefix === 'string' ? { prefix: args.prefix } : {}
      const looked = await desk.list(seat, 'workspace', { ref: '', ...prefix, limit: FILES })
      return lookedAt(looked, files => ({
        files: files.map(({ content: _content, ref: _ref, ...file }: { content?: unknown; ref?: unknown }) => file),
      }))
    },
  ),
  journalTool(
    {
      toolId: 'assay:workspace.read',
      title: 'Read a file',
      description: 'Reads a file of the workspace.',
      safetyTier: 'read',
      scopes: ['workspace:read'],
      properties: { path: PATH },
      required: ['path'],
    },
    async (desk, seat, { args }) =>
      lookedAt(await desk.read(seat, 'workspace', { ref: '', id: String(args.path) }), ([file]) => ({
        found: file !== undefined,
        ...(file ? { file } : {}),
      })),
  ),
  journalTool(
    {
      toolId: 'assay:workspace.write',
      title: 'Write a file',
      description: `Writes a file of the workspace, whole. ${LATER}`,
      safetyTier: 'write',
      scopes: ['workspace:write'],
      properties: {
        path: PATH,
        content: { type: 'string', description: 'All of the file' },
        contentType: { type: 'string', maxLength: 128, description: 'Such as text/markdown' },
        ifMatch: VERSION,
      },
      required: ['path', 'content'],
    },
    async (desk, seat, { args }) => {
      const { path, contentType } = args
      const wanted = {
        space: 'workspace' as const,
        ref: '',
        id: String(path),
        content: textOf(args.content),
        tags: [],
        ...(typeof contentType === 'string' ? { contentType } : {}),
        ...matchOf(args.ifMatch),
      }
      return preparedAs(await desk.put(seat, wanted), `Written. ${LATER}`)
    },
  ),
  journalTool(
    {
      toolId: 'assay:workspace.remove',
      title: 'Remove a file',
      description: 'Removes a file of the workspace. It is gone for you from your next turn or node on.',
      safetyTier: 'write',
      scopes: ['workspace:write'],
      properties: { path: PATH, ifMatch: VERSION },
      required: ['path'],
    },
    async (desk, seat, { args }) => {
      const key = { ref: '', id: String(args.path), ...matchOf(args.ifMatch) }
      return preparedAs(await desk.forget(seat, 'workspace', key), 'Removed.')
    },
  ),
]
