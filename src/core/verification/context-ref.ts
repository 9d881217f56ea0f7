/** One entry of a gate's `context`, read. `path` is a dotted path into the value; empty for all of it. */
export type ContextRef =
  | { readonly kind: 'input'; readonly name: string; readonly path: string }
  | { readonly kind: 'node'; readonly nodeId: string; readonly path: string }
  | { readonly kind: 'knowledge'; readonly entryId: string }

const INPUT = /^inputs\.([^.]+)(?:\.(.+))?$/
const NODE = /^nodes\.(.+?)\.output(?:\.(.+))?$/
const KNOWLEDGE = /^knowledge:(.+)$/

/** Undefined where it is none of the three. */
export function parseContextRef(text: string): ContextRef | undefined {
  const input = INPUT.exec(text)
  if (input) return { kind: 'input', name: input[1] ?? '', path: input[2] ?? '' }
  const node = NODE.exec(text)
  if (node) return { kind: 'node', nodeId: node[1] ?? '', path: node[2] ?? '' }
  const knowledge = KNOWLEDGE.exec(text)
  return knowledge ? { kind: 'knowledge', entryId: knowledge[1] ?? '' } : undefined
}

/** The knowledge that a gate shows as a source. */
export const knowledgeIn = (context: readonly string[] = []): string[] =>
  context.flatMap(ref => {
    const parsed = parseContextRef(ref)
    return parsed?.kind === 'knowledge' ? [parsed.entryId] : []
  })
