/** `assay`: a host inside a program of yours. See docs/guides/embedding.md. */
export type { Connection } from './client/http-call.js'
export { ConfigError } from './config.js'
export type { Json, JsonObject } from './core/json.js'
export { type EmbeddedHost, embedHost as createHost, type HostOptions } from './embedding.js'
export type { Log } from './engine/ports/log.js'
export type { EffectAnswer, Performer, TranscriptEvent } from './engine/ports/performer.js'
export {
  defineStep,
  type StepContext,
  type StepDefinition,
  StepError,
  type StepRequest,
  type StepResponse,
  type StepSecret,
} from './steps/code/define-step.js'
