import { WORKER_ID, WORKER_ID_RULE } from '../names.js'
import { Closed, Flag, ListOf, MapOf, May, OneOf, Text, Whole } from '../schema/kinds.js'
import { VariableMap } from '../workflow/fields.js'

const OutputAttestation = Closed(
  {
    checksum: May(Flag({ description: 'Whether the digest of what a worker brings back is told and checked' })),
    algorithm: May(OneOf(['sha256'], { description: 'The only one' })),
    requireApproval: May(Flag({ description: 'Whether a person must accept what a worker brings back' })),
    timeoutMs: May(
      Whole(1, Number.MAX_SAFE_INTEGER, {
        description: 'How long that person may take, in milliseconds; nobody answering is a no',
        'x-unit': 'ms',
      }),
    ),
    principalScope: May(
      ListOf(Text(256), 0, 100, { description: 'Scopes of which the worker has no more than these' }),
    ),
  },
  { description: 'What is asked of a result before anything is made of it' },
)

/** What a node that hands work over may say about its workers (contract agents §5, §12). */
export const TERMS = {
  inputMapping: May(
    VariableMap('child variables to parent variables', { description: 'What a worker is given: child name ← parent' }),
  ),
  outputMapping: May(
    VariableMap('parent variables to child variables', {
      description: 'What is taken from a worker: parent name ← child',
    }),
  ),
  outputAttestation: May(OutputAttestation),
  memoryScopeIsolation: May(
    OneOf(['inherit', 'isolated'], {
      description: 'Whether a worker has the memory of the run that hands over, or one of its own',
      default: 'inherit',
    }),
  ),
  propagateCancellation: May(Flag({ description: 'Whether cancelling the parent cancels its workers', default: true })),
}

const perWorker = (what: string, description: string) =>
  MapOf(new RegExp(WORKER_ID), WORKER_ID_RULE, VariableMap(what), {
    description,
    'x-must-be': 'an object of mappings by worker',
  })

export const WORKER_TERMS = {
  perWorkerInputMappings: May(
    perWorker('child variables to parent variables', 'In place of inputMapping, for the workers it names'),
  ),
  perWorkerOutputMappings: May(
    perWorker('parent variables to child variables', 'In place of outputMapping, for the workers it names'),
  ),
}
