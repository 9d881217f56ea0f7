import { termsOf } from '../terms.js'
import type { Builtin } from './builtins.js'

const TOOL_ID = 'assay:artifact.list'

/** Names what the log of the run names, too. The latest come first: where the list is cut, they are still there. */
export const artifactList: Builtin = ({ settings, artifacts }) =>
  artifacts && {
    tool: {
      shown: {
        terms: termsOf(TOOL_ID, 'native', { repeat: 'safe' }, settings.rules),
        title: 'List artifacts',
        description: 'Lists the artifacts of this run, the latest first: id, type, and the node that made each.',
        inputSchema: { type: 'object', properties: {}, additionalProperties: false },
        safetyTier: 'read',
        source: 'host-extension',
      },
      async invoke({ tenant, runId }) {
        return { ok: true, text: JSON.stringify((await artifacts.list(tenant, runId)).toReversed()) }
      },
    },
  }
