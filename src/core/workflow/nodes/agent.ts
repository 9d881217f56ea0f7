import { isObject, type Json, type JsonObject } from '../../json.js'
import { present } from '../../present.js'
import { Closed, May } from '../../schema/kinds.js'
import { ratificationProblems } from '../../supervisor/hold.js'
import { PartField, SomeText, Timeout } from '../fields.js'
import { NEEDS_FIELDS, needsOf, PROMPT_FIELDS, picked } from '../model-fields.js'
import { completed, type NodeContext, type NodeType, type Write } from '../node-type.js'
import { agentOf } from '../supervisor-loop.js'

/** Contract agents §14.3. */
export const agentNode = {
  typeId: 'core.agent',
  invokes: true,
  about:
    'Has an agent of the catalogue do a task: its input `task`, else all its inputs, else those of the run. The outputs are `result`, `agentId` and perhaps `confidence`.',
  config: Closed({
    agentId: May(SomeText({ description: 'The agent, where the node pins none' })),
    resultVariable: May(
      PartField('the name of the variable that takes the result', {
        description: 'The variable that takes the result',
      }),
    ),
    timeoutMs: May(Timeout('How long a person may take whom the agent is not sure enough to do without')),
    ...PROMPT_FIELDS,
    ...NEEDS_FIELDS,
  }),
  check: node => (nameOf(node) === undefined ? ['agent.agentId must name the agent that does the task'] : []),
  start: ctx => {
    const { node, config, ordinal } = ctx
    const { version, memoryRef } = isObject(node.agent as Json | undefined) ? (node.agent as JsonObject) : {}
    const agent = {
      agentId: present(nameOf(node), `agent of node "${node.id}"`),
      ...(typeof version === 'string' ? { version } : {}),
      ...(typeof memoryRef === 'string' ? { memoryRef } : {}),
      ...needsOf(config),
    }
    return {
      kind: 'waiting',
      wait: { kind: 'agent', agent, role: 'worker', task: taskOf(ctx), ordinal, prompts: picked(config, REFS) },
    }
  },
  settle: ({ config }, _wait, outcome) => {
    if (outcome.kind !== 'agent') throw new Error(`agent settled by ${outcome.kind}`)
    const { agentId, result, confidence } = outcome
    const name = config.resultVariable
    const writes: Write[] = typeof name === 'string' ? [{ kind: 'variable', name, value: result }] : []
    return completed({ result, ...(confidence === undefined ? {} : { confidence }), agentId }, writes)
  },
  answerProblems: (_asked, value) =>
    ratificationProblems(value, edited =>
      edited === undefined ? ['resumeValue.editedArtifactData must be the result that takes its place'] : [],
    ),
} as const satisfies NodeType

const nameOf = (node: NodeContext['node']): string | undefined =>
  agentOf(node) ?? (typeof node.config.agentId === 'string' ? node.config.agentId : undefined)

const REFS = Object.keys(PROMPT_FIELDS)

/** What the agent is given: its port `task`, else all its ports, else what the run itself was given. */
function taskOf({ inputs, runInputs }: NodeContext): Json {
  if (Object.keys(inputs).length > 0) return inputs.task ?? inputs
  return runInputs.task ?? runInputs
}
