import {
  APPROVAL_OPTIONS,
  approvalProblems,
  askingProblems,
  WAITING,
  WRITTEN_APPROVERS,
} from '../../interrupt/asking-schema.js'
import { isObject, type JsonObject } from '../../json.js'
import { failure } from '../../problem.js'
import { Closed, May, OneOf } from '../../schema/kinds.js'
import { Anything, SomeText } from '../fields.js'
import { completed, failedStep, type NodeContext, type NodeType } from '../node-type.js'
import { notApproved } from './interrupt.js'

const PROFILES = ['openwop-interrupt-auth-required', 'openwop-interrupt-quorum'] as const

const asked = ({ node, config, inputs, ordinal }: NodeContext): JsonObject => {
  const { approversList, ...others } = config
  const isListless = Array.isArray(approversList) && approversList.length === 0
  const said: JsonObject = { ...(isListless ? others : config), ...inputs }
  const { profile: _profile, timeoutMs: _timeout, resumeSchema: _schema, ...given } = said
  return {
    ...given,
    artifactId: given.artifactId ?? `${node.id}-${ordinal}`,
    artifactType: given.artifactType ?? 'approval',
    title: given.title ?? node.name,
    actions: given.actions ?? ['accept', 'reject'],
  }
}

/** Contract core §7. */
export const approvalGateNode = {
  typeId: 'core.approvalGate',
  ports: ['output', 'reject', 'refine'],
  about:
    'Waits until a person approves. A refusal fails the node, unless an edge leaves the port `reject`; work that is sent back leaves by `refine`, and fails the node when other nodes wait for an approval instead. Nobody answering in time counts as a refusal. Input ports stand in place of the fields of the same name.',
  config: Closed({
    title: May(SomeText({ description: 'What is to be approved, in a line; the name of the node where absent' })),
    description: May(SomeText({ description: 'More about it' })),
    artifactId: May(SomeText({ description: 'By which the answer names what was approved' })),
    artifactType: May(SomeText({ description: 'What kind of thing it is', default: 'approval' })),
    artifactData: May(Anything({ description: 'What is to be approved' })),
    ...APPROVAL_OPTIONS,
    approversList: WRITTEN_APPROVERS,
    profile: May(OneOf(PROFILES, { description: 'The profile of the protocol that the gate is written for' })),
    ...WAITING,
  }),
  check: ({ config }) => approvalProblems(config, 'config'),
  chosenPort: ({ action }) => (action === 'reject' || action === 'refine' ? action : 'output'),
  start: ctx => {
    const { resumeSchema, timeoutMs } = ctx.config
    const data = asked(ctx)
    // What arrives through ports was not there to be looked at when the workflow was registered.
    const problems = askingProblems('approval', data, 'data')
    if (problems.length > 0) return failedStep(failure('invalid_input', problems.join('; '), { retryable: false }))
    return {
      kind: 'asking',
      interrupt: {
        kind: 'approval',
        data,
        ...(isObject(resumeSchema) ? { resumeSchema } : {}),
        ...(typeof timeoutMs === 'number' ? { timeoutMs } : {}),
      },
    }
  },
  settle: (ctx, _wait, outcome) => {
    if (outcome.kind !== 'resolved') throw new Error(`approval settled by ${outcome.kind}`)
    const { value, data, timedOut, by } = outcome.resolution
    const said = isObject(value) ? value : {}
    if (said.action === 'reject' && !ctx.wired('reject')) return notApproved(timedOut, by)
    // What was sent back must not go on as if it were approved.
    if (said.action === 'refine' && !ctx.wired('refine') && ctx.wired('output')) return notApproved(false, by, 'refine')
    const artifact = said.action === 'edit-accept' ? said.editedArtifactData : data.artifactData
    return completed({ ...said, ...(artifact === undefined ? {} : { artifact }) })
  },
} as const satisfies NodeType
