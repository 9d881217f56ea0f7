import { Type } from 'typebox'
import type { JournalUse } from '../../../journal/entry.js'
import { isObject } from '../../../json.js'
import { isNamed, patternOf } from '../../../names.js'
import { failure } from '../../../problem.js'
import { Closed, May, OneOf, Text, Whole } from '../../../schema/kinds.js'
import { Anything } from '../../fields.js'
import { completed, failedStep, type NodeContext, type NodeStep, type NodeType } from '../../node-type.js'

const ACTIONS = ['read', 'write', 'list', 'remove'] as const

/** What tools of agents ask of whoever the run acts for (R-TOOL-4). */
const scopeOf = (action: unknown): string =>
  action === 'read' || action === 'list' ? 'workspace:read' : 'workspace:write'

export const fileNode = {
  typeId: 'core.file',
  about:
    'Reads or writes a file of the workspace, as it was when the node started: `read` gives `found` and `file`, `list` gives `files`, `write` takes its input `content`, or config.content, and gives `path`, as `remove` does. What is written is seen from the next node on, and by other runs once no gate holds it.',
  config: Closed({
    action: OneOf(ACTIONS, { description: 'What to do' }),
    path: May(Text(256, { description: 'Which file; the input `path` wins over it. Of a list: how the paths begin' })),
    content: May(Anything({ description: 'What to write, where no port `content` brings it' })),
    contentType: May(
      Type.String({
        pattern: patternOf('contentType'),
        description: 'Such as text/markdown',
        'x-must-be': 'a media type, such as text/markdown',
      }),
    ),
    ifMatch: May(
      Whole(0, Number.MAX_SAFE_INTEGER, {
        description: 'The version that the file must have; 0 where there must be none',
      }),
    ),
  }),
  journals: true,
  acts: true,
  check: ({ config, inputs }) => [
    ...(config.action === 'list' || config.path === undefined || isNamed('filePath', String(config.path))
      ? []
      : ['config.path must be a path within the workspace, such as reports/may.md']),
    ...(config.action === 'list' || 'path' in inputs || 'path' in config
      ? []
      : ['config.path is missing; say which file as config.path or inputs.path']),
    ...(config.action !== 'write' || 'content' in inputs || 'content' in config
      ? []
      : ['config.content is missing; give the content as inputs.content or config.content']),
  ],
  start(ctx) {
    const { action } = ctx.config
    const scope = scopeOf(action)
    if (!ctx.scopes.includes(scope))
      return failedStep(
        failure(
          'scope_missing',
          `whoever this run acts for lacks the scope ${scope}, which core.file needs to ${String(action)}`,
          {
            retryable: false,
            details: { requiredScopes: [scope] },
          },
        ),
      )
    return asked(ctx)
  },
  settle: (_ctx, _wait, outcome) =>
    completed(outcome.kind === 'answer' && isObject(outcome.output) ? outcome.output : {}),
} as const satisfies NodeType

function asked({ config, inputs, ordinal }: NodeContext): NodeStep {
  const { action, contentType, ifMatch } = config
  const path = inputs.path ?? config.path
  const space = 'workspace' as const
  const match = typeof ifMatch === 'number' ? { ifMatch } : {}
  if (action === 'list')
    return journal(
      { act: 'list', space, ref: '', limit: 200, ...(path === undefined ? {} : { prefix: String(path) }) },
      ordinal,
    )
  if (typeof path !== 'string' || !isNamed('filePath', path))
    return failedStep(
      failure('invalid_input', 'inputs.path must be a path within the workspace, such as reports/may.md', {
        retryable: false,
      }),
    )
  if (action === 'read') return journal({ act: 'get', space, ref: '', id: path }, ordinal)
  if (action === 'remove') return journal({ act: 'forget', space, ref: '', id: path, ...match }, ordinal)
  const value = inputs.content ?? config.content
  if (value === undefined)
    return failedStep(failure('input_missing', 'inputs.content has no value to write', { retryable: false }))
  const content = typeof value === 'string' ? value : JSON.stringify(value)
  const kind = typeof contentType === 'string' ? { contentType } : {}
  return journal({ act: 'put', space, ref: '', id: path, content, tags: [], ...kind, ...match }, ordinal)
}

const journal = (use: JournalUse, ordinal: number): NodeStep => ({
  kind: 'waiting',
  wait: { kind: 'journal', use, ordinal },
})
