import { ENGINE_VERSION } from '../../core/run/version.js'
import type { RunEngine } from '../../engine/api.js'
import type { Route } from '../../http/route.js'
import type { MockPrograms } from '../mock-programs.js'
import type { SwitchedOff } from '../switched-off.js'
import { type CacheKeyRequest, llmCacheKey } from './cache-key.js'
import { programMock } from './program-mock.js'
import { registerSequence, toggleCapability } from './registration.js'
import { readTestLog, resetTests } from './test-log.js'

export type SeamDeps = {
  readonly engine: Pick<RunEngine, 'readEvents' | 'putWorkflow'>
  readonly programs: MockPrograms
  readonly switchedOff: SwitchedOff
  readonly cacheKey: (request: CacheKeyRequest) => string
}

/** R-SEAM-1, R-SEAM-2: mounted in conformance mode alone; what they set and answer is what the host itself goes by. */
export const seamRoutes = ({ engine, programs, switchedOff, cacheKey }: SeamDeps): Route[] => [
  programMock(programs),
  llmCacheKey(cacheKey),
  readTestLog(engine, String(ENGINE_VERSION)),
  resetTests(programs, switchedOff),
  toggleCapability(switchedOff),
  registerSequence(engine),
]
