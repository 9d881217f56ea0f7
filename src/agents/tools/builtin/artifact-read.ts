import { termsOf } from '../terms.js'
import type { Builtin } from './builtins.js'

const TOOL_ID = 'assay:artifact.read'

/**
 * Reads an artifact of the same run. Whoever started the run must be allowed to read artifacts: what the key may not
 * do over HTTP, an agent does not do for it.
 */
export const artifactRead: Builtin = ({ settings, artifacts }) =>
  artifacts && {
    tool: {
      shown: {
        terms: termsOf(TOOL_ID, 'native', { repeat: 'safe', scopes: ['artifacts:read'] }, settings.rules),
        title: 'Read an artifact',
        description: 'Reads the content of an artifact of this run.',
        inputSchema: {
          type: 'object',
          properties: {
            artifactId: {
              type: 'string',
              minLength: 1,
              maxLength: 64,
              description: 'An id that assay:artifact.list told',
            },
          },
          required: ['artifactId'],
          additionalProperties: false,
        },
        safetyTier: 'read',
        source: 'host-extension',
      },
      async invoke({ args, tenant, runId }) {
        const content = await artifacts.read(tenant, runId, String(args.artifactId))
        if (content === undefined) return { ok: false, code: 'tool_failed', text: 'This run has no such artifact.' }
        return { ok: true, text: typeof content === 'string' ? content : JSON.stringify(content) }
      },
    },
  }
