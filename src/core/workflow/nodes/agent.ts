import { timeoutProblems } from '../../interrupt/interrupt.js'
import { isObject, type Json, type JsonObject, own } from '../../json.js'
import { present } from '../../present.js'
import { ratificationProblems } from '../../supervisor/hold.js'
import { completed, type NodeContext, type NodeType, type Write } from '../node-type.js'
import { agentOf } from '../supervisor-loop.js'

/** Has an agent of the catalogue do a task (contract agents §14.3). Its result is the node's. */
export const agentNode: NodeType = {
  typeId: 'core.agent',
  invokes: true,
  check: node => [...agentProblems(node), ...configProblems(node.config)],
  start: ctx => {
    const { node, config, ordinal } = ctx
    const version = isObject(node.agent as Json | undefined) ? (node.agent as JsonObject).version : undefined
    const agent = {
      agentId: present(nameOf(node), `agent of node "${node.id}"`),
      ...(typeof version === 'string' ? { version } : {}),
    }
    return {
      kind: 'waiting',
      wait: { kind: 'agent', agent, role: 'worker', task: taskOf(ctx), ordinal, prompts: promptRefs(config) },
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
}

const nameOf = (node: NodeContext['node']): string | undefined =>
  agentOf(node) ?? (typeof node.config.agentId === 'string' ? node.config.agentId : undefined)

const agentProblems = (node: NodeContext['node']): string[] =>
  nameOf(node) === undefined ? ['agent.agentId must name the agent that does the task'] : []

const REFS = ['systemPromptRef', 'userPromptRef', 'schemaHintPromptRef', 'fewShotPromptRefs']
const KNOWN = ['agentId', 'resultVariable', 'timeoutMs', ...REFS]

function configProblems(config: JsonObject): string[] {
  const unknown = Object.keys(config).filter(name => !KNOWN.includes(name))
  const { resultVariable } = config
  return [
    ...unknown.map(name => `config.${name} is not known; known: ${KNOWN.join(', ')}`),
    ...(resultVariable === undefined || (typeof resultVariable === 'string' && resultVariable !== '')
      ? []
      : ['config.resultVariable must name the variable that takes the result']),
    ...timeoutProblems(config),
  ]
}

const promptRefs = (config: JsonObject): JsonObject =>
  Object.fromEntries(
    REFS.flatMap(name => {
      const ref = own(config, name)
      return ref === undefined ? [] : [[name, ref]]
    }),
  )

/** What the agent is given: its port `task`, else all its ports, else what the run itself was given. */
function taskOf({ inputs, runInputs }: NodeContext): Json {
  if (Object.keys(inputs).length > 0) return inputs.task ?? inputs
  return runInputs.task ?? runInputs
}
