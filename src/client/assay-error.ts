/** What a server, or the way to it, refused. `status` is 0 when no answer came. */
export class AssayError extends Error {
  override readonly name = 'AssayError'
  constructor(
    readonly status: number,
    readonly code: string,
    message: string,
    readonly details: { readonly [key: string]: unknown } = {},
    options?: ErrorOptions,
  ) {
    super(message, options)
  }

  /** The same request may succeed later, unchanged. */
  get isTemporary(): boolean {
    return this.status === 0 || this.status === 429 || this.status === 503
  }

  /** How long the server asked to be left alone, if it did. */
  get retryAfterMs(): number | undefined {
    const { retryAfterMs, retryAfter } = this.details
    if (typeof retryAfterMs === 'number') return retryAfterMs
    return typeof retryAfter === 'number' ? retryAfter * 1000 : undefined
  }
}

/** Reads the protocol's error envelope (contract core §3.2); an answer without one still becomes an AssayError. */
export async function errorFrom(response: Response): Promise<AssayError> {
  const text = await response.text()
  const header = Number(response.headers.get('retry-after') ?? Number.NaN)
  const hint = Number.isFinite(header) ? { retryAfter: header } : {}
  const { error, message, details } = parseEnvelope(text)
  return new AssayError(
    response.status,
    typeof error === 'string' ? error : 'unexpected_response',
    typeof message === 'string' ? message : `the server answered ${response.status} ${response.statusText}`,
    { ...hint, ...(typeof details === 'object' ? details : {}) },
  )
}

function parseEnvelope(text: string): { error?: unknown; message?: unknown; details?: unknown } {
  try {
    return Object(JSON.parse(text))
  } catch (error) {
    if (error instanceof SyntaxError) return {}
    throw error
  }
}
