import { boundedText, count, id, name, oneOf, type Shape, texts } from './shape.js'

const memoryId = boundedText('a string of 1 to 1500 characters', 1, 1_500)

/**
 * agents §7.1, §19. Free of content (R-MEM-20): they name what was written, and Assay leaves no room for more. `tags` are
 * the protocol's; whoever wrote them chose their words, so Assay does not tell them.
 */
export const JOURNAL_SHAPES: { readonly [type: string]: Shape } = {
  'memory.written': {
    required: { memoryRef: name, memoryId },
    optional: { nodeId: id, agentId: name, tags: texts },
    assay: ['nodeId'],
    notAssay: ['tags'],
    assayClosed: true,
  },
  'assay.memory.forgotten': {
    required: { memoryRef: name, memoryId, nodeId: id },
    optional: { agentId: name },
    closed: true,
  },
  'assay.file.written': { required: { path: name, nodeId: id }, optional: { agentId: name }, closed: true },
  'assay.file.removed': { required: { path: name, nodeId: id }, optional: { agentId: name }, closed: true },
  'assay.journal.read': {
    required: { nodeId: id, space: oneOf('memory', 'workspace'), entries: count },
    optional: { agentId: name },
    closed: true,
  },
}
