import type { ModelServer, ServerStep } from './openai-server.js'

export function startServer(options: {
  readonly port: number
  readonly plan?: readonly ServerStep[]
  readonly journal?: string
}): Promise<ModelServer>
