import type { Static } from 'typebox'
import type { Json, JsonObject } from '../../core/json.js'

/** Where a secret is; it is read when the step is about to run, and taken out of whatever the step says. */
export type StepSecret = { readonly env: string } | { readonly file: string }

/** What a step of the project is: a file of `steps/` exports one by default. */
export type StepDefinition<
  Input extends JsonObject = JsonObject,
  Output extends JsonObject = JsonObject,
  Secrets extends { readonly [name: string]: StepSecret } = { readonly [name: string]: StepSecret },
> = {
  readonly description?: string
  /** JSON Schema of what it is given: the inputs of its node. */
  readonly input?: Input
  /** JSON Schema of what it gives back. */
  readonly output?: Output
  /**
   * Whether it may run again when nobody knows how far it came: `never` (the default), `keyed` when whatever it does is
   * known again by `effectId`, `safe` when it does no harm.
   */
  readonly repeat?: 'safe' | 'keyed' | 'never'
  /** The secrets that it gets, by the names it knows them by. It gets no others. */
  readonly secrets?: Secrets
  /** How long it may take; a minute by default, an hour at most. */
  readonly timeoutMs?: number
  run(context: StepContext<Static<Input>, keyof Secrets & string>): Promise<Static<Output>> | Static<Output>
}

/** What a step sees while it runs. */
export type StepContext<Input = unknown, SecretNames extends string = string> = {
  readonly input: Input
  /** The same however often the step runs again for the same node of the same run: what must happen once is named by it. */
  readonly effectId: string
  readonly runId: string
  readonly nodeId: string
  /** W3C trace context, for what is sent. */
  readonly traceparent: string
  readonly secrets: { readonly [Name in SecretNames]: string }
  /** Aborts when the run no longer wants the result; the process ends soon after. */
  readonly signal: AbortSignal
  /** A line about how far it is, told in the log of the run when the step is over; 100 of them at most. */
  progress(text: string): void
  /** The way out of the host, under its rules: public addresses only, unless `steps.allowPrivate` is set. */
  readonly fetch: (url: string, request?: StepRequest) => Promise<StepResponse>
  /** The memory of the run as it was when the node started; what is put is there from the next node on. */
  readonly memory: {
    get(memoryRef: string, memoryId: string): Promise<JsonObject | null>
    list(
      memoryRef: string,
      options?: { readonly tag?: string; readonly limit?: number },
    ): Promise<readonly JsonObject[]>
    put(entry: {
      readonly memoryRef: string
      readonly content: string
      readonly memoryId?: string
      readonly tags?: readonly string[]
      readonly ttlSeconds?: number
    }): Promise<void>
  }
  /** Files of the workspace, likewise. */
  readonly workspace: {
    read(path: string): Promise<JsonObject | null>
    list(prefix?: string): Promise<readonly JsonObject[]>
    write(
      path: string,
      content: string,
      options?: { readonly contentType?: string; readonly ifMatch?: number },
    ): Promise<void>
    remove(path: string): Promise<void>
  }
}

/** What is sent; all but GET and HEAD carry an `Idempotency-Key` of the step's own unless one is given. */
export type StepRequest = {
  readonly method?: string
  readonly headers?: { readonly [name: string]: string }
  readonly body?: string
  readonly timeoutMs?: number
}

/** What came back: 1 MiB at most, redirects not followed, nothing decompressed. */
export type StepResponse = {
  readonly status: number
  readonly ok: boolean
  readonly headers: { readonly [name: string]: string }
  readonly truncated: boolean
  text(): string
  json(): Json
}

/** A step of the project: `export default defineStep({ … })` in a file of `steps/`. */
export const defineStep = <
  const Input extends JsonObject,
  const Output extends JsonObject,
  const Secrets extends { readonly [name: string]: StepSecret } = Record<never, StepSecret>,
>(
  step: StepDefinition<Input, Output, Secrets>,
): StepDefinition<Input, Output, Secrets> => step

/** To be thrown: the step has failed, and whether another try may do better. */
export class StepError extends Error {
  override readonly name = 'StepError'
  /** Whether another try may do better; not unless it is said. */
  readonly retryable: boolean

  constructor(message: string, retryable = false) {
    super(message)
    this.retryable = retryable
  }
}
