import type { HttpConfig } from '../config.js'

/** What discovery claims of memory and workspaces (contract agents §2); nothing where they are switched off. */
export const journalFamilies = ({ memory, workspace }: HttpConfig): object => ({
  ...(memory.enabled && {
    memory: {
      supported: true,
      maxEntrySizeBytes: memory.maxEntryBytes,
      ttlSupported: true,
      writable: true,
      attribution: { supported: true, emitsWriteEvents: true },
      // By tags; the words of entries are an extension, and nothing is found by its meaning.
      search: { supported: true, modes: ['filter'] },
      retention: { ttl: true, forget: true },
    },
  }),
  ...(workspace.enabled && {
    workspace: {
      supported: true,
      versioned: true,
      maxFileBytes: workspace.maxFileBytes,
      maxFiles: workspace.maxFiles,
    },
  }),
})
