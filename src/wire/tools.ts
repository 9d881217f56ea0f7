import { type Static, Type } from 'typebox'
import type { JsonObject } from '../core/json.js'
import { OneOf } from '../core/schema/kinds.js'

const closed = { additionalProperties: false }
const Schema = Type.Unsafe<JsonObject>({ type: 'object', description: 'A JSON Schema' })

/** A tool as readers of the catalogue know it (contract agents §15). Names scopes, never a credential. */
export const ToolDescriptor = Type.Object(
  {
    toolId: Type.String({ minLength: 1, description: '`<scope>:<tool-id>`, as a `toolAllowlist` names it' }),
    source: OneOf(['node-pack', 'workflow', 'mcp', 'connector', 'host-extension']),
    safetyTier: OneOf(['pure', 'read', 'write', 'exec']),
    title: Type.Optional(Type.String()),
    description: Type.Optional(Type.String()),
    inputSchema: Type.Optional(Schema),
    outputSchema: Type.Optional(Schema),
    auth: Type.Optional(Type.Object({ scopes: Type.Optional(Type.Array(Type.String())) }, closed)),
    egress: Type.Optional(OneOf(['none', 'safe-fetch', 'host-mediated', 'host-owned'])),
    approval: Type.Optional(OneOf(['never', 'conditional', 'always'])),
    replayPolicy: Type.Optional(OneOf(['deterministic', 'idempotent', 'non-deterministic'])),
  },
  closed,
)
export type ToolDescriptor = Static<typeof ToolDescriptor>

export const ListToolsAnswer = Type.Object({ tools: Type.Array(ToolDescriptor), total: Type.Integer({ minimum: 0 }) })

const ToolServerDoc = Type.Object(
  {
    name: Type.String(),
    transport: OneOf(['stdio', 'http']),
    problem: Type.Optional(Type.String({ description: 'Why it cannot be used now' })),
    stderr: Type.Optional(
      Type.Object(
        {
          bytes: Type.Integer({ minimum: 0, description: 'How much it has written there' }),
          tail: Type.String({ description: 'The end of it, without secrets, between marks: it is untrusted' }),
        },
        closed,
      ),
    ),
  },
  closed,
)
export type ToolServerDoc = Static<typeof ToolServerDoc>

export const ListToolServersAnswer = Type.Object({ servers: Type.Array(ToolServerDoc) })
