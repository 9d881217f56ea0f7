import { completed, failedStep, type NodeType } from '../node-type.js'

/** Fails on purpose: always, or only the first `failures` attempts, to try out retries. */
export const failNode: NodeType = {
  typeId: 'core.fail',
  check: ({ config }) =>
    config.failures === undefined || (Number.isInteger(config.failures) && (config.failures as number) >= 0)
      ? []
      : ['config.failures must be a whole number of attempts to fail, 0 or more'],
  start: ({ config, failures }) => {
    if (typeof config.failures === 'number' && failures >= config.failures) return completed({ attempts: failures + 1 })
    return failedStep({
      code: typeof config.code === 'string' ? config.code : 'conformance_test_failure',
      message: typeof config.message === 'string' ? config.message : 'Intentional conformance failure',
      retryable: config.retryable !== false,
    })
  },
}
