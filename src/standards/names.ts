import { type Named, patternOf } from '../core/names.js'
import { type Annotations, Matching } from '../core/schema/kinds.js'

/** Where a document came from. What can harm the host itself is taken from its operator's own folder only. */
export type Origin = 'project' | 'api'

const called =
  (name: Named, what: string) =>
  (more: Annotations = {}) =>
    Matching(new RegExp(patternOf(name)), what, more)

export const StandardId = called('gateId', 'an id of 1 to 128 letters, digits and . _ -')

/** R-DWS-32: keys appear on the wire, so their spelling is narrow. */
export const CriterionKey = called('criterion', 'a key of 1 to 64 lower-case letters, digits and . _ -')

export const ProbeId = called('probeId', 'a key of 1 to 80 lower-case letters, digits and . _ -')

export const AgentName = called('agentId', 'the id of an agent')

/** Whom work is handed to, here or at a peer. */
export const WorkerName = called('workerId', 'the id of a workflow or of an agent, or peer:NAME/WORKFLOW')

/** Of a workflow, or of an agent whose runs are meant. */
export const WorkName = called('workId', 'the id of a workflow or of an agent')
