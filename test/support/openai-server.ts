import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { freePort } from './free-port.js'
import { startServer } from './openai-server.mjs'

/**
 * A provider that speaks the OpenAI chat protocol and does what its plan says: for each request the first step that
 * applies. What no step is for is answered with the text `ok`.
 */
export type ServerStep = {
  /** Texts that the request holds, all of them. */
  readonly contains?: string | readonly string[]
  /** How often it applies; once where nothing has to be contained, else always. */
  readonly times?: number
  readonly reply: ServerReply
}

type Counted = { readonly usage?: object; readonly finish?: string; readonly reasoning?: string | readonly string[] }

export type ServerReply =
  /** `{echo}` in the text is what the first group of the pattern `echo` finds in the request. */
  | ({ readonly kind: 'text'; readonly text: string; readonly echo?: string } & Counted)
  | ({ readonly kind: 'tools'; readonly calls: readonly ServerCall[]; readonly text?: string } & Counted)
  | { readonly kind: 'refusal'; readonly text: string }
  | { readonly kind: 'content-filter'; readonly filters?: object }
  | {
      readonly kind: 'status'
      readonly status: number
      readonly headers?: Record<string, string>
      readonly body?: unknown
    }
  /** Never answers. */
  | { readonly kind: 'hang' }
  /** Begins to answer and says no more. */
  | { readonly kind: 'stall' }
  /** Closes the connection without a word. */
  | { readonly kind: 'drop' }
  /** Closes it in the middle of the answer. */
  | { readonly kind: 'break'; readonly text?: string }
  /** Ends the answer in good order, but in the middle. */
  | { readonly kind: 'end-early'; readonly text?: string }
  | { readonly kind: 'empty' }
  | { readonly kind: 'garbage' }
  | { readonly kind: 'error-frame'; readonly error: unknown }
  /** One character after the other, for ever. */
  | { readonly kind: 'drip' }
  | { readonly kind: 'flood'; readonly bytes: number }
  /** One event of that size, whose end never comes. */
  | { readonly kind: 'long-line'; readonly bytes: number }

export type ServerCall = { readonly name: string; readonly args?: unknown; readonly raw?: string; readonly id?: string }

export type ServerRequest = {
  /** In the order of arrival, from 0. */
  readonly n: number
  readonly method: string
  readonly path: string
  readonly headers: Readonly<Record<string, string | undefined>>
  readonly body: ChatBody
  /** The other side went away before the answer was complete. */
  readonly left: boolean
}

/** What tests look at in a request. */
export type ChatBody = {
  readonly model: string
  readonly stream?: boolean
  readonly max_tokens?: number
  readonly temperature?: number
  readonly response_format?: { readonly type: string }
  readonly messages: readonly {
    readonly role: string
    readonly content: string | null
    readonly tool_call_id?: string
    readonly tool_calls?: readonly {
      readonly id: string
      readonly function: { readonly name: string; readonly arguments: string }
    }[]
  }[]
  readonly tools?: readonly { readonly function: { readonly name: string; readonly parameters: unknown } }[]
}

export type ModelServer = {
  readonly port: number
  /** To be set as the provider's base URL. */
  readonly url: string
  requests(): readonly ServerRequest[]
  connections(): number
  plan(steps: readonly ServerStep[]): void
  close(): Promise<void>
}

/** In this process. `journal` is a file to which a line of JSON is added for each request, before it is answered. */
export async function startModelServer(
  options: { readonly port?: number; readonly plan?: readonly ServerStep[]; readonly journal?: string } = {},
): Promise<ModelServer> {
  return startServer({ ...options, port: options.port ?? (await freePort()) })
}

export type ModelProcess = {
  readonly url: string
  readonly child: ChildProcess
  requests(): Promise<readonly ServerRequest[]>
  plan(steps: readonly ServerStep[]): Promise<void>
  close(): Promise<void>
}

/** The same in a process of its own, which lives on when the tested host dies. `folder` is for its plan and journal. */
export async function spawnModelServer(folder: string, plan: readonly ServerStep[] = []): Promise<ModelProcess> {
  const port = await freePort()
  const planFile = path.join(folder, `plan-${port}.json`)
  await writeFile(planFile, JSON.stringify(plan))
  const script = fileURLToPath(new URL('./openai-server.mjs', import.meta.url))
  const journal = path.join(folder, `requests-${port}.jsonl`)
  const child = spawn(process.execPath, [script, String(port), planFile, journal], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const leave = () => child.kill('SIGKILL')
  process.once('exit', leave)
  child.once('exit', () => process.off('exit', leave))
  await once(child.stdout, 'data')
  const root = `http://127.0.0.1:${port}`
  return {
    url: `${root}/v1`,
    child,
    requests: async () => (await (await fetch(`${root}/requests`)).json()) as readonly ServerRequest[],
    plan: async steps => {
      await fetch(`${root}/plan`, { method: 'POST', body: JSON.stringify(steps) })
    },
    async close() {
      const gone = once(child, 'exit')
      child.kill('SIGKILL')
      await gone
    },
  }
}
