import { AssayError, errorFrom } from './assay-error.js'

/** Where a host is, and who asks. */
export type Connection = {
  /** `http://127.0.0.1:4100`, without a path. */
  readonly url: string
  /** Of this host: `assay keys create` makes one, and that of a local host is in `local-key` of its data folder. */
  readonly key?: string | undefined
  /** Which tenant to look into, for a key that manages tenants; its own if there is none. */
  readonly tenant?: string
  /** Sees every response before it is read. */
  readonly observe?: (response: Response) => void
  /** How long a call may take, 30 s by default; streams have no limit. */
  readonly timeoutMs?: number
}

export type Call = {
  readonly method?: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  readonly path: string
  readonly query?: { readonly [name: string]: string | number | undefined }
  /** JSON, unless it is bytes, a blob or a form, which go as they are. */
  readonly body?: unknown
  /** Takes as long as it takes: it sends much. */
  readonly isLong?: boolean
  readonly headers?: { readonly [name: string]: string }
  readonly signal?: AbortSignal
}

/** How often a call that is safe to repeat is made before its failure is believed. */
const TRIES = 3
const FIRST_PAUSE_MS = 100

/** One call and its JSON answer. Calls that are safe to repeat (reads, keyed writes) ride out a restart of the server. */
export const callJson = (connection: Connection, call: Call): Promise<unknown> =>
  answered(connection, call, response => (response.status === 204 ? undefined : response.json()))

/** The same for an answer that is no JSON. */
export const callBytes = (connection: Connection, call: Call): Promise<Uint8Array> =>
  answered(connection, call, async response => new Uint8Array(await response.arrayBuffer()))

/** The same as it comes; from the first of it on it may take as long as it takes. */
export const callStream = async (connection: Connection, call: Call): Promise<ReadableStream<Uint8Array>> =>
  answered(connection, { ...call, isLong: true }, response => response.body ?? new Blob([]).stream())

async function answered<T>(
  connection: Connection,
  call: Call,
  read: (response: Response) => Promise<T> | T,
): Promise<T> {
  const repeatable = (call.method ?? 'GET') !== 'POST' || call.headers?.['idempotency-key'] !== undefined
  for (let attempt = 1; ; attempt++) {
    try {
      const timeout = call.isLong ? undefined : AbortSignal.timeout(connection.timeoutMs ?? 30_000)
      const response = await open(connection, call, timeout)
      return await read(response)
    } catch (error) {
      if (!(error instanceof AssayError) || !error.isTemporary || !repeatable || attempt === TRIES) throw error
      await pause(error.retryAfterMs ?? FIRST_PAUSE_MS * 2 ** attempt, call.signal)
    }
  }
}

/** Sends the call and returns the response once it is known to be a success; throws AssayError otherwise. */
export async function open(connection: Connection, call: Call, timeout?: AbortSignal): Promise<Response> {
  const url = new URL(call.path, connection.url)
  for (const [name, value] of Object.entries(call.query ?? {})) {
    if (value !== undefined) url.searchParams.set(name, String(value))
  }
  const signals = [call.signal, timeout].filter(signal => signal !== undefined)
  const response = await send(connection, url, {
    method: call.method ?? 'GET',
    headers: {
      accept: 'application/json',
      ...(isJson(call.body) && { 'content-type': 'application/json' }),
      ...(connection.key !== undefined && { authorization: `Bearer ${connection.key}` }),
      ...(connection.tenant !== undefined && { 'x-assay-tenant': connection.tenant }),
      ...call.headers,
    },
    ...(call.body !== undefined && {
      body: isJson(call.body) ? JSON.stringify(call.body) : (call.body as FormData | Blob | Uint8Array<ArrayBuffer>),
    }),
    ...(signals.length > 0 && { signal: AbortSignal.any(signals) }),
    redirect: 'error',
  })
  if (!response.ok) throw await errorFrom(response)
  return response
}

const isJson = (body: unknown): boolean =>
  body !== undefined && !(body instanceof Uint8Array) && !(body instanceof Blob) && !(body instanceof FormData)

async function send(connection: Connection, url: URL, init: RequestInit): Promise<Response> {
  try {
    const response = await fetch(url, init)
    connection.observe?.(response)
    return response
  } catch (error) {
    if ((error as Error).name === 'AbortError') throw error
    const cause = (error as { cause?: { code?: string; message?: string } }).cause
    const reason = cause?.code ?? cause?.message ?? (error as Error).message
    throw new AssayError(0, 'unreachable', `no answer from ${url.origin} (${reason})`, {}, { cause: error })
  }
}

/** Rejects with the signal's reason when it aborts first. */
export function pause(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const abort = () => {
      clearTimeout(timer)
      reject(signal?.reason)
    }
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', abort)
      resolve()
    }, ms)
    if (signal?.aborted) abort()
    else signal?.addEventListener('abort', abort, { once: true })
  })
}

/** A request with files beside it. */
export function formOf(request: object, files: { readonly [input: string]: File }): FormData {
  const form = new FormData()
  form.set('run', new Blob([JSON.stringify(request)], { type: 'application/json' }))
  for (const [name, file] of Object.entries(files)) form.set(name, file, file.name)
  return form
}
