import type { Edge } from './deps.js'
import type { Route } from './route.js'
import { agentRoutes } from './routes/agents.js'
import { annotationRoutes } from './routes/annotations.js'
import { artifactRoutes } from './routes/artifacts.js'
import { auditRoutes } from './routes/audit.js'
import { calibrationRoutes } from './routes/calibration.js'
import { chatRoutes } from './routes/chat.js'
import { debugBundleRoutes } from './routes/debug-bundle.js'
import { diffRoutes } from './routes/diff.js'
import { eventRoutes } from './routes/events.js'
import { forkRoutes } from './routes/fork.js'
import { interruptLinkRoutes } from './routes/interrupt-links.js'
import { interruptRoutes } from './routes/interrupts.js'
import { keyRoutes } from './routes/keys.js'
import { metaRoutes } from './routes/meta.js'
import { promptRoutes } from './routes/prompts.js'
import { quotaRoutes } from './routes/quotas.js'
import { runControlRoutes } from './routes/run-control.js'
import { runRoutes } from './routes/runs.js'
import { standardRoutes } from './routes/standards.js'
import { tenantRoutes } from './routes/tenants.js'
import { toolRoutes } from './routes/tools.js'
import { verificationRoutes } from './routes/verifications.js'
import { webhookRoutes } from './routes/webhooks.js'
import { withheldRoutes } from './routes/withheld.js'
import { workflowRoutes } from './routes/workflows.js'

/** Every route there is. */
export function routeTable(edge: Edge): readonly Route[] {
  const table: Route[] = [
    ...metaRoutes(edge, () => table),
    ...workflowRoutes(edge),
    ...standardRoutes(edge),
    ...calibrationRoutes(edge),
    ...agentRoutes(edge),
    ...toolRoutes(edge),
    ...promptRoutes(),
    ...runRoutes(edge),
    ...chatRoutes(edge),
    ...runControlRoutes(edge),
    ...forkRoutes(edge),
    ...eventRoutes(edge),
    ...interruptRoutes(edge),
    ...interruptLinkRoutes(edge),
    ...diffRoutes(edge),
    ...debugBundleRoutes(edge),
    ...annotationRoutes(),
    ...artifactRoutes(edge),
    ...verificationRoutes(edge),
    ...withheldRoutes(edge),
    ...keyRoutes(edge),
    ...tenantRoutes(edge),
    ...webhookRoutes(edge),
    ...auditRoutes(edge),
    ...quotaRoutes(edge),
    ...(edge.routes ?? []),
  ]
  return table
}
