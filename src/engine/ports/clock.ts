export interface Clock {
  /** Wall time in milliseconds. */
  now(): number
  /** Milliseconds that only ever grow. */
  monotonic(): number
  /** Calls back once, no sooner than `ms` from now; returns a function that takes it back. */
  after(ms: number, callback: () => void): () => void
}

export interface Ids {
  /** Sorts by creation time; `[A-Za-z0-9_-]` only. */
  run(): string
  /** Unguessable, for append ids and host incarnations. */
  unique(): string
  /** 16 unguessable bytes as base64url; asked for with every event, so it must be cheap. */
  salt(): string
}

/** A number from 0 up to 1, by chance. Not for secrets. */
export type Random = () => number
