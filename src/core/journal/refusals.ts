import { isNamed } from '../names.js'
import { type Refusal, refuse } from '../problem.js'
import { DEEPEST } from './place.js'

/** What may be written into memory and workspaces, and what whoever tries more is told. */

/** An entry that is too long, with both sizes. */
export const entryTooLong = (bytes: number, limit: number): Refusal =>
  refuse(
    'validation_error',
    `content takes ${bytes} bytes; an entry of memory may have ${limit} (memory.maxEntryBytes). Put less into it, or write a file of the workspace.`,
    { field: 'content', limit, bytes },
  )

/** A file that is too large, with both sizes. */
export const fileTooLarge = (size: number, limit: number): Refusal =>
  refuse(
    'workspace_too_large',
    `The file has ${size} bytes or more; a file of the workspace may have ${limit} (workspace.maxFileBytes). Send less, or have whoever operates this host raise it.`,
    { limit, size },
  )

export const PATH_RULE =
  '1 to 256 of A-Z a-z 0-9 . _ / and -, first a letter or digit, without .. or empty parts, such as reports/2026.md'

/** What is wrong with the path of a file; undefined where it may be one. */
export const pathRefusal = (path: string): Refusal | undefined =>
  isNamed('filePath', path)
    ? undefined
    : refuse('validation_error', `path must be ${PATH_RULE}; got ${shortly(path)}.`, { field: 'path', limit: 256 })

/** A name as it was sent, unless it is long. */
const shortly = (path: string): string =>
  path.length > 64 ? `${JSON.stringify(path.slice(0, 64))}…, ${path.length} characters` : JSON.stringify(path)

/** A setting that is used up: which, how large it is, and who can raise it. */
export const overSetting = (setting: string, limit: number, things: string): Refusal =>
  refuse(
    'quota_exceeded',
    `Refused: this tenant may have ${limit} ${things} (${setting}); remove some, or have whoever operates this host raise it.`,
    { scope: 'tenant', quota: setting, limit, raisedBy: 'operator', setting },
  )

/** The file has another version than its writer says it must have: 0 where there must be none, `any` where there must be one. */
export const versionConflict = (path: string, ifMatch: number | 'any' | null, currentVersion: number): Refusal => {
  const is = currentVersion === 0 ? 'there is no such file' : `its version is ${currentVersion}`
  const message = `File ${path} was not changed: ${wantedBy(ifMatch)}, and ${is} now. Read it again, and send the version that you saw.`
  return refuse('workspace_conflict', message, { path, currentVersion })
}

const wantedBy = (ifMatch: number | 'any' | null): string => {
  if (ifMatch === 'any') return 'some version of it was to be there'
  return ifMatch === 0 ? 'there was to be none' : `version ${ifMatch} was to be there`
}

/** Whether it never was, was removed or is another tenant's is not told apart, not even by its name. */
export const NO_FILE = refuse('not_found', 'No such file, or it is not visible to this key.')

/** The file is there, and that version of it is not. */
export const noVersion = (path: string, version: number, current: number): Refusal =>
  refuse('not_found', `File ${path} has no version ${version} that can be read; its version is ${current} now.`, {
    path,
    version,
    currentVersion: current,
  })

/** Each branch of a branch sees what is beneath it; so many may lie one upon the other. */
export const branchTooDeep = (sourceRunId: string): Refusal =>
  refuse(
    'validation_error',
    `Run ${sourceRunId} is a branch of a branch, ${DEEPEST} deep, and sees memory and files through all of them; branch off an earlier one of these.`,
    { field: 'body.fromSeq', sourceRunId, limit: DEEPEST },
  )
