import { isObject, type JsonObject, own } from '../core/json.js'
import { type Refusal, refuse } from '../core/problem.js'
import type { Caller } from './auth/key-cache.js'

/** `configurable.mockProvider` answers instead of a real model, so it is for test keys only (contract core §2.1). */
export function mockProviderRefusal(
  caller: Caller,
  configurable: JsonObject | undefined,
  supported: readonly string[],
  place = 'body',
): Refusal | undefined {
  const mock = configurable === undefined ? undefined : own(configurable, 'mockProvider')
  if (mock === undefined) return undefined
  const field = `${place}.configurable.mockProvider`
  const id = isObject(mock) ? own(mock, 'id') : undefined
  if (typeof id !== 'string' || id.length === 0 || id.length > 128) {
    return refuse('validation_error', `${field}.id must be a string of 1 to 128 characters.`, { field: `${field}.id` })
  }
  const details = { requestedProvider: id, supportedProviders: supported }
  if (!caller.test) return refuse('mock_provider_forbidden', `${field} needs a test key.`, details)
  if (!supported.includes(id)) return refuse('unsupported_mock_provider', `${field}.id is not known here.`, details)
  return undefined
}
