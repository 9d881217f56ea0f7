import type { JournalView } from '../../core/journal/place.js'
import { WORKSPACE_SCOPE } from '../../core/journal/place.js'
import {
  fileTooLarge,
  NO_FILE,
  noVersion,
  overSetting,
  pathRefusal,
  versionConflict,
} from '../../core/journal/refusals.js'
import { type Refusal, refuse } from '../../core/problem.js'
import { overQuota } from '../../core/quotas.js'
import type { Content, OutsideWrite, WriteRow } from '../ports/journal.js'
import { entriesIn, entryIn } from '../queries/journal-view.js'
import { holdsSecret, type KeptContent, keepFile, openContent, openPieces } from './content.js'
import { contentOf, type DeskDeps, type Found, got, refused, stepsToOpen, viewNow, viewWanted } from './desk.js'
import type { Moment } from './moment.js'
import {
  contentOfPieces,
  type FileBytes,
  type ReceivedFile,
  type ReceiveLimits,
  receiveFile,
  type UploadDeps,
} from './upload.js'

/** A tenant's workspace (contract agents §19), as the edges read and write it. */
export interface WorkspaceAdmin {
  /** By path. */
  list(tenant: string, query: FilesQuery): Promise<Found<readonly WriteRow[]>>
  read(tenant: string, path: string, which?: { version?: number; at?: Moment }): Promise<Found<FileRead>>
  /** A file as it comes; what was stored of it goes with `drop`, unless it was written. */
  receive(tenant: string, bytes: AsyncIterable<Buffer>, limits: ReceiveLimits): Promise<Found<ReceivedFile>>
  drop(tenant: string, file: ReceivedFile): Promise<void>
  /** Version 1 where the path is new. */
  write(tenant: string, file: FileWrite): Promise<Found<FileWritten>>
  remove(tenant: string, path: string, ifMatch: IfMatch): Promise<Found<{ readonly version: number }>>
  /** Removes a file that nobody was told of, with its content. */
  takeBack(tenant: string, path: string): Promise<Found<unknown>>
}

export type FilesQuery = { readonly prefix?: string; readonly at?: Moment; readonly limit: number }

/** `pieces`: what a long one is read in, from its beginning each time. */
export type FileRead = { readonly row: WriteRow } & (
  | { readonly whole: Buffer; readonly pieces?: never }
  | { readonly pieces: () => AsyncIterable<Buffer>; readonly whole?: never }
)

export type FileWrite = {
  readonly path: string
  readonly file: FileBytes
  readonly contentType: string
  readonly ifMatch: IfMatch
}

/** `bytes` may be fewer than were sent, where a secret was taken out. */
export type FileWritten = { readonly version: number; readonly at: number; readonly bytes: number }

/** The version that the file must have: 0 where there must be none, `any` where there must be one. */
export type IfMatch = number | 'any' | null

export type WorkspaceLimits = { readonly maxFileBytes: number; readonly maxFiles: number }

/** Files have no reference: their path is all of their key. */
const keyOf = (path: string) => ({ ref: '', id: path })

const NAMES_SECRET = refuse(
  'validation_error',
  'The path, or the type, holds a secret that this host knows, and is told to whoever reads of the file; give another.',
  { field: 'path' },
)

export function createWorkspaceDesk(deps: DeskDeps & UploadDeps, limits: WorkspaceLimits): WorkspaceAdmin {
  const { store } = deps
  const now = (tenant: string) => viewNow(deps, tenant, 'workspace', WORKSPACE_SCOPE)
  const seen = (tenant: string, at: Moment | undefined) =>
    viewWanted(deps, tenant, 'workspace', at ? { at } : { scope: WORKSPACE_SCOPE })
  const currentVersion = async (tenant: string, path: string): Promise<number> =>
    (await entryIn(store, tenant, 'workspace', await now(tenant), keyOf(path)))?.version ?? 0
  /** Null where anything will do. */
  const demanded = async (tenant: string, path: string, ifMatch: IfMatch): Promise<Found<number | null>> => {
    if (ifMatch !== 'any') return got(ifMatch)
    const version = await currentVersion(tenant, path)
    return version > 0 ? got(version) : refused(versionConflict(path, ifMatch, 0))
  }
  const roomFor = async (tenant: string, path: string): Promise<Refusal | undefined> => {
    const { storedBytes } = deps.quotas(tenant)
    if ((await deps.usage.usageOf(tenant)).storedBytes >= storedBytes) return overQuota('storedBytes', storedBytes)
    if ((await currentVersion(tenant, path)) > 0) return undefined
    const [scope] = await store.listScopes(tenant, 'workspace', 1)
    // It is first where there is anything in it: no name is shorter.
    const files = scope?.scope === WORKSPACE_SCOPE ? scope.entries : 0
    return files < limits.maxFiles ? undefined : overSetting('workspace.maxFiles', limits.maxFiles, 'files')
  }

  const desk: WorkspaceAdmin = {
    async list(tenant, { at, ...query }) {
      const view = await seen(tenant, at)
      if (!view.ok) return refused(view.refusal)
      const rows = await entriesIn(store, tenant, 'workspace', view.view, query)
      return got(rows.sort((a, b) => (a.id < b.id ? -1 : 1)))
    },

    async read(tenant, path, { version, at } = {}) {
      const view = await seen(tenant, at)
      if (!view.ok) return refused(view.refusal)
      const row = await entryIn(store, tenant, 'workspace', view.view, keyOf(path))
      const wanted =
        version === undefined || version === row?.version
          ? row
          : await rowOfVersion(deps, tenant, path, version, view.view)
      const content = wanted && (await contentOf(deps, tenant, wanted))
      if (wanted && content) return got({ row: wanted, ...(await readable(deps, tenant, wanted, content)) })
      const hasOther = row?.version != null && version !== undefined
      return refused(hasOther ? noVersion(path, version, row.version) : NO_FILE)
    },

    receive: (tenant, bytes, wanted) => receiveFile(deps, tenant, bytes, wanted),

    async drop(tenant, { pieces }) {
      if (pieces) await store.dropUpload(tenant, pieces.contentId)
    },

    async write(tenant, { path, file, contentType, ifMatch }) {
      const size = file.whole?.length ?? 0
      const wrong =
        pathRefusal(path) ??
        (holdsSecret(deps, path, contentType) ? NAMES_SECRET : undefined) ??
        (size > limits.maxFileBytes ? fileTooLarge(size, limits.maxFileBytes) : undefined)
      if (wrong) return refused(wrong)
      const demand = await demanded(tenant, path, ifMatch)
      if (!demand.ok) return demand
      const full = await roomFor(tenant, path)
      if (full) return refused(full)
      const kept = file.pieces
        ? contentOfPieces(tenant, file.pieces)
        : await keepFile(deps, { tenant, contentId: deps.ids.unique(), runId: null, body: file.whole })
      if ('code' in kept) return refused(kept)
      const at = deps.clock.now()
      const write = putting(path, contentType, kept, demand.value, at)
      const result = await store.writeOutside(tenant, [write], null)
      if (result.kind === 'written') return got({ version: result.rows[0]?.version ?? 1, at, bytes: kept.bytes })
      return refused(result.kind === 'conflict' ? versionConflict(path, ifMatch, result.currentVersion) : NO_FILE)
    },

    async remove(tenant, path, ifMatch) {
      const demand = await demanded(tenant, path, ifMatch)
      if (!demand.ok) return demand
      const write = { ...REMOVING, id: path, ifMatch: demand.value, at: deps.clock.now() }
      const result = await store.writeOutside(tenant, [write], null)
      if (result.kind === 'written') return got({ version: result.rows[0]?.version ?? 1 })
      return refused(result.kind === 'conflict' ? versionConflict(path, ifMatch, result.currentVersion) : NO_FILE)
    },

    async takeBack(tenant, path) {
      const removed = await desk.remove(tenant, path, null)
      if (removed.ok) await store.destroyContent(tenant, 'workspace', WORKSPACE_SCOPE, keyOf(path))
      return removed
    },
  }
  return desk
}

async function readable(deps: DeskDeps, tenant: string, row: WriteRow, content: Content) {
  if (content.pieces > 0) return { pieces: () => openPieces(deps, content) }
  await deps.turns.room(tenant)
  deps.turns.spent(tenant, stepsToOpen(row))
  return { whole: await openContent(deps, content) }
}

/** Versions rise with positions, so the one is found among the other by halves. */
async function rowOfVersion(
  { store }: DeskDeps,
  tenant: string,
  path: string,
  version: number,
  [reach]: JournalView,
): Promise<WriteRow | undefined> {
  if (reach === undefined) return undefined
  let [low, high] = [0, reach.upTo]
  while (low < high) {
    const upTo = Math.floor((low + high) / 2)
    const row = await store.entryAt(tenant, 'workspace', { ...reach, runs: [], upTo }, keyOf(path))
    if ((row?.version ?? 0) < version) low = upTo + 1
    else high = upTo
  }
  const row = await store.entryAt(tenant, 'workspace', { ...reach, runs: [], upTo: low }, keyOf(path))
  return row?.version === version && row.op === 'put' ? row : undefined
}

const REMOVING: Omit<OutsideWrite, 'id' | 'at' | 'ifMatch'> = {
  space: 'workspace',
  scope: WORKSPACE_SCOPE,
  ref: '',
  op: 'forget',
  tags: [],
  expiresAt: null,
  content: null,
  hash: null,
  contentType: null,
}

const putting = (
  path: string,
  contentType: string,
  { content, hash, bytes }: KeptContent,
  ifMatch: number | null,
  at: number,
): OutsideWrite => ({ ...REMOVING, id: path, op: 'put', content, hash, bytes, contentType, ifMatch, at })
