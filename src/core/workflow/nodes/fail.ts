import { Closed, Flag, May, Whole } from '../../schema/kinds.js'
import { SomeText } from '../fields.js'
import { completed, failedStep, type NodeType } from '../node-type.js'

export const failNode = {
  typeId: 'core.fail',
  about: 'Fails on purpose: always, or only the first attempts, to try out retries.',
  config: Closed({
    code: May(SomeText({ description: 'The code of the failure', default: 'conformance_test_failure' })),
    message: May(SomeText({ description: 'Its message', default: 'Intentional conformance failure' })),
    retryable: May(Flag({ description: 'Whether it may be tried again', default: true })),
    failures: May(
      Whole(0, Number.MAX_SAFE_INTEGER, {
        description: 'How many attempts fail before one succeeds; all, where absent',
      }),
    ),
  }),
  start: ({ config, failures }) => {
    if (typeof config.failures === 'number' && failures >= config.failures) return completed({ attempts: failures + 1 })
    return failedStep({
      code: typeof config.code === 'string' ? config.code : 'conformance_test_failure',
      message: typeof config.message === 'string' ? config.message : 'Intentional conformance failure',
      retryable: config.retryable !== false,
    })
  },
} as const satisfies NodeType
