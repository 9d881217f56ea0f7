import { approvalProblems, interruptProblems, timeoutProblems } from '../../interrupt/interrupt.js'
import { isObject, type JsonObject } from '../../json.js'
import { failure } from '../../problem.js'
import { completed, failedStep, type NodeContext, type NodeType } from '../node-type.js'
import { notApproved } from './interrupt.js'

const PROFILE = 'openwop-interrupt-auth-required'

const asked = ({ node, config, inputs, ordinal }: NodeContext): JsonObject => {
  const { profile: _profile, timeoutMs: _timeout, resumeSchema: _schema, ...given } = { ...config, ...inputs }
  return {
    ...given,
    artifactId: given.artifactId ?? `${node.id}-${ordinal}`,
    artifactType: given.artifactType ?? 'approval',
    title: given.title ?? node.name,
    actions: given.actions ?? ['accept', 'reject'],
  }
}

/**
 * Waits until a person approves (contract core §7). A refusal fails the node, unless an edge leaves the port `reject`;
 * work that is sent back leaves by `refine`, and fails the node when other nodes wait for an approval instead. Nobody
 * answering in time counts as a refusal.
 */
export const approvalGateNode: NodeType = {
  typeId: 'core.approvalGate',
  ports: ['output', 'reject', 'refine'],
  check: ({ config }) => [
    ...approvalProblems(config, 'config'),
    ...timeoutProblems(config),
    ...(config.profile === undefined || config.profile === PROFILE || config.profile === 'openwop-interrupt-quorum'
      ? []
      : [`config.profile is not known here; leave it out or use "${PROFILE}"`]),
  ],
  chosenPort: ({ action }) => (action === 'reject' || action === 'refine' ? action : 'output'),
  start: ctx => {
    const { resumeSchema, timeoutMs } = ctx.config
    const data = asked(ctx)
    // What arrives through ports was not there to be looked at when the workflow was registered.
    const problems = interruptProblems('approval', data, 'data')
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
}
