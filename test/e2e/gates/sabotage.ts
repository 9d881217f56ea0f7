import { cpSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'

const repository = fileURLToPath(new URL('../../..', import.meta.url))

/** One line of the build, made wrong. */
export type Patch = { readonly file: string; readonly find: RegExp; readonly put: string }

/** What workers bring back is merged without asking for a gate. */
export const MERGE_UNASKED: Patch = {
  file: 'core/handoff/decide.js',
  find: /const isOpen = .*;/,
  put: 'const isOpen = true;',
}

/** No result has a gate before it. */
export const NO_GATES: Patch = {
  file: 'core/verification/attempt.js',
  find: /export const nextGate = [^;]*;/,
  put: 'export const nextGate = () => undefined;',
}

/** Verdicts are about something that was judged another time. */
export const STALE_VERDICTS: Patch = {
  file: 'core/verification/verdict.js',
  find: /(gateId: gate\.gate_id,\s+attempt,\s+)resultHash,(\s+\.\.\.\(label)/,
  put: "$1resultHash: 'sha256:0',$2",
}

/** What a tool brings is given to its agent as if no gate stood before it. */
export const TOOL_UNHELD: Patch = {
  file: 'core/invocation/tool-call.js',
  find: /const isGated =[^;]*;/,
  put: 'const isGated = false;',
}

/** The store takes whatever it is given. */
export const NO_CONSTRAINT: readonly Patch[] = [
  {
    file: 'store/sqlite/migrations/0001-baseline.sql',
    find: /(CREATE TRIGGER gate_events_merge INSTEAD OF INSERT ON gate_events\s+WHEN)/,
  },
  {
    file: 'store/sqlite/migrations/0001-baseline.sql',
    find: /(CREATE TRIGGER events_writes AFTER INSERT ON events\s+WHEN)/,
  },
].map(patch => ({ ...patch, put: '$1 0 AND' }))

/** A copy of the build with these in it. Throws where one does not fit: then it would have proved nothing. */
export function sabotaged(folder: string, patches: readonly Patch[]): string {
  const build = path.join(folder, 'dist')
  mkdirSync(folder, { recursive: true })
  cpSync(path.join(repository, 'dist'), build, { recursive: true })
  for (const name of ['node_modules', 'package.json']) symlinkSync(path.join(repository, name), path.join(folder, name))
  for (const { file, find, put } of patches) {
    const text = readFileSync(path.join(build, file), 'utf8')
    const found = text.match(new RegExp(find, 'g'))?.length ?? 0
    if (found !== 1) throw new Error(`${find} fits ${found} places of ${file}, and must fit one`)
    writeFileSync(path.join(build, file), text.replace(find, put))
  }
  return build
}
