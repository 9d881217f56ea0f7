import { AssayError } from './assay-error.js'
import { type Connection, callBytes, callJson, callStream } from './http-call.js'
import type {
  FileInfo,
  FileList,
  MemoryConsolidated,
  MemoryEntry,
  MemoryForgotten,
  MemoryList,
  MemoryScopes,
} from './wire-shapes.js'

/** A scope as it is now, or what a run saw of its own: `at` is `RUN:SEQ`, or `RUN:end`. */
export type MemoryWhere = { readonly scope?: string; readonly at?: string }

/** Which entries are listed. */
export type MemoryFilter = MemoryWhere & {
  readonly ref?: string
  readonly tag?: string
  /** Words that entries must all have. */
  readonly q?: string
  readonly limit?: number
}

const MEMORY = '/v1/host/assay/memory'
const FILES = '/v1/host/workspace/files'

/** What agents have written down for later. */
export class MemoryClient {
  constructor(private readonly connection: Connection) {}

  /** Newest first; where words are given, best first. */
  list(filter: MemoryFilter): Promise<MemoryList> {
    return callJson(this.connection, { path: MEMORY, query: filter }) as Promise<MemoryList>
  }

  /** Scopes that there is memory in. */
  scopes(query: { limit?: number; after?: string } = {}): Promise<MemoryScopes> {
    return callJson(this.connection, { path: `${MEMORY}/scopes`, query }) as Promise<MemoryScopes>
  }

  /** One entry, complete. */
  get(id: string, ref: string, where: MemoryWhere): Promise<MemoryEntry> {
    return callJson(this.connection, { path: entry(id), query: { ref, ...where } }) as Promise<MemoryEntry>
  }

  /** From now on nobody finds it. With `destroy` no run and no fork reads any version of it again. */
  forget(id: string, ref: string, scope: string, { destroy = false } = {}): Promise<MemoryForgotten> {
    const query = { ref, scope, ...(destroy && { destroy: 'true' }) }
    const call = { method: 'DELETE', path: entry(id), query, headers: keyed() } as const
    return callJson(this.connection, call) as Promise<MemoryForgotten>
  }

  /** Of entries that say the same, one stays. */
  consolidate(scope: string, memoryRef: string): Promise<MemoryConsolidated> {
    const call = {
      method: 'POST',
      path: `${MEMORY}:consolidate`,
      body: { scope, memoryRef },
      headers: keyed(),
    } as const
    return callJson(this.connection, call) as Promise<MemoryConsolidated>
  }
}

/** Which file: as it is now, in a version, or as a run saw it. */
export type FileWhere = { readonly version?: number; readonly at?: string }

/** What is to be written, and of what type it is. A blob is sent as it is read, so that it may be longer than memory. */
export type FileContent = { readonly bytes: Uint8Array | Blob; readonly contentType: string }

/** Files that a tenant's runs and keys share. */
export class WorkspaceClient {
  constructor(private readonly connection: Connection) {}

  /** By path, without their content. */
  list(query: { prefix?: string; at?: string; limit?: number } = {}): Promise<FileList> {
    return callJson(this.connection, { path: FILES, query }) as Promise<FileList>
  }

  /** Its bytes. */
  async read(path: string, where: FileWhere = {}): Promise<Uint8Array> {
    return callBytes(this.connection, { path: file(path), query: { ...where, raw: 'true' } })
  }

  /** Its bytes as they come, for a file that is too long to be held. */
  async stream(path: string, where: FileWhere = {}): Promise<ReadableStream<Uint8Array>> {
    return callStream(this.connection, { path: file(path), query: { ...where, raw: 'true' } })
  }

  /** `ifMatch`: the version that the file must have; 0 where there must be none. */
  async write(path: string, { bytes, contentType }: FileContent, ifMatch?: number): Promise<FileInfo> {
    // Under the type of JSON the body would be taken for what describes a file.
    const isJson = /^application\/json\b/i.test(contentType)
    return callJson(this.connection, {
      method: 'PUT',
      path: file(path),
      body: isJson ? { content: await textOf(bytes), contentType } : bytes,
      isLong: true,
      headers: { ...keyed(), ...demanding(ifMatch), ...(!isJson && { 'content-type': contentType }) },
    }) as Promise<FileInfo>
  }

  /** Earlier versions stay readable by their numbers. */
  async remove(path: string, ifMatch?: number): Promise<unknown> {
    return callJson(this.connection, {
      method: 'DELETE',
      path: file(path),
      headers: { ...keyed(), ...demanding(ifMatch) },
    })
  }
}

const textOf = (bytes: Uint8Array | Blob): Promise<string> | string =>
  bytes instanceof Blob ? bytes.text() : new TextDecoder().decode(bytes)

const entry = (id: string): string => `${MEMORY}/entries/${encodeURIComponent(id)}`

/** A URL would resolve dots, and so name something else. */
function file(path: string): string {
  const parts = path.split('/')
  if (parts.some(part => part === '' || part === '.' || part === '..'))
    throw new AssayError(
      0,
      'validation_error',
      `path must have neither empty parts nor . or .., and not begin with /, such as reports/may.md; got ${JSON.stringify(path)}`,
    )
  return `${FILES}/${parts.map(encodeURIComponent).join('/')}`
}

const keyed = () => ({ 'idempotency-key': crypto.randomUUID() })
const demanding = (version: number | undefined) => (version === undefined ? {} : { 'if-match': `"${version}"` })
