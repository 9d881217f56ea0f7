import { isObject, type Json, type JsonObject } from '../../json.js'
import { failure } from '../../problem.js'
import { Closed } from '../../schema/kinds.js'
import { HOST_VERIFIER } from '../../verification/gate.js'
import { completed, failedStep, type NodeType } from '../node-type.js'

/** The workflow that a verifier's run is of: one node of this type, made by the host and by nobody else. */
export const VERIFIER_WORKFLOW = 'assay-verifier'
/** The variable in which a verifier's run leaves what it came to: `{result, confidence?}`; its log does not show it. */
export const VERIFICATION = 'verification'

/**
 * Has an agent judge what a gate holds back. It works in a run of its own, on what that run was given and on nothing
 * else (R-DWS-4, R-DWS-33); how the bundle is put to it is the same for every agent that judges.
 */
export const verifyNode = {
  typeId: 'assay.verify',
  about: 'For the host alone: has an agent judge what a gate holds back.',
  config: Closed({}),
  invokes: true,
  // R-DWS-12: a workflow of one's own around it could give a verifier more than its bundle.
  check: () => ['typeId assay.verify is for the host alone; put a gate at the node whose work is to be verified'],
  start: ({ runInputs, withheld, ordinal }) => {
    const { agentId, bundle = null, schema } = { ...runInputs, ...withheld }
    if (typeof agentId !== 'string' || !isBundle(bundle) || !isObject(schema))
      return failedStep(failure('invalid_input', NOT_GIVEN, { retryable: false }))
    const agent = agentId === HOST_VERIFIER ? { agentId, inline: { systemPrompt: RUBRIC } } : { agentId }
    return {
      kind: 'waiting',
      wait: { kind: 'agent', agent, role: 'verifier', task: bundle, ordinal, returnSchema: schema },
    }
  },
  settle: (_ctx, _wait, outcome) => {
    if (outcome.kind !== 'agent') throw new Error(`verifier settled by ${outcome.kind}`)
    const { result, confidence } = outcome
    const verification: JsonObject = { result, ...(confidence === undefined ? {} : { confidence }) }
    return completed(verification, [{ kind: 'variable', name: VERIFICATION, value: verification, sensitive: true }])
  },
} as const satisfies NodeType

/** What the host's own verifier knows besides what every verifier is told. */
const RUBRIC = `You check the work of others with care and without favour.
Take the criteria one by one, look in the output for what speaks for and against each, and only then give it a score.`

const NOT_GIVEN =
  'the run of a verifier needs the inputs {agentId, bundle, schema}, which only a gate gives; start a run of the workflow that has the gate'

const LISTS = ['intents', 'constraints', 'knowledge', 'evidence', 'criteria'] as const

/** Anybody may start a run by the name of its workflow, so what it was given need not come from a gate. */
const isBundle = (value: Json): boolean =>
  isObject(value) && value.output !== undefined && LISTS.every(name => Array.isArray(value[name]))
