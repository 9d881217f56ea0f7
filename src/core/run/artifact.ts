import type { Json } from '../json.js'
import type { DecisionContext } from './decision-context.js'

type Artifact = {
  readonly artifactType: string
  readonly content: Json
  /** The content with everything masked that the log must not show. */
  readonly shown: Json
}

/** The id names the event that holds the content, so the log itself is the artifact store. */
export function tellArtifact(
  context: DecisionContext,
  nodeId: string,
  { artifactType, content, shown }: Artifact,
  cause: number,
): number {
  return context.emitNumbered(sequence => ({
    type: 'artifact.created',
    nodeId,
    payload: { artifactId: `art-${sequence}`, artifactType, nodeId },
    secret: shown === content ? { content } : { content, shown },
    cause,
  }))
}
