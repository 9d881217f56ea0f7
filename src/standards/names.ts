import { type Named, patternOf } from '../core/names.js'
import { matching, type Read } from './reader.js'

/** Where a document came from. What can harm the host itself is taken from its operator's own folder only. */
export type Origin = 'project' | 'api'

const called = (name: Named, what: string): Read<string> => matching(new RegExp(patternOf(name)), what)

export const standardId: Read<string> = called('gateId', 'an id of 1 to 128 letters, digits and . _ -')

/** R-DWS-32: keys appear on the wire, so their spelling is narrow. */
export const key: Read<string> = called('criterion', 'a key of 1 to 64 lower-case letters, digits and . _ -')

export const probeId: Read<string> = called('probeId', 'a key of 1 to 80 lower-case letters, digits and . _ -')

export const agentId: Read<string> = called('agentId', 'the id of an agent')

/** Of a workflow, or of an agent whose runs are meant. */
export const workflowId: Read<string> = called('workId', 'the id of a workflow or of an agent')
