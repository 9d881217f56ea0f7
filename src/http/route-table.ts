import type { Edge } from './deps.js'
import type { Route } from './route.js'
import { goalRoutes } from './routes/goals/goals.js'
import { auditRoutes } from './routes/host/audit.js'
import { keyRoutes } from './routes/host/keys.js'
import { metaRoutes } from './routes/host/meta.js'
import { quotaRoutes } from './routes/host/quotas.js'
import { tenantRoutes } from './routes/host/tenants.js'
import { webhookRoutes } from './routes/host/webhooks.js'
import { interruptLinkRoutes } from './routes/interrupts/interrupt-links.js'
import { interruptRoutes } from './routes/interrupts/interrupts.js'
import { commitmentRoutes } from './routes/journal/commitments.js'
import { memoryRoutes } from './routes/journal/memory.js'
import { streamRoutes } from './routes/journal/stream.js'
import { workspaceRoutes } from './routes/journal/workspace.js'
import { ancestryRoutes } from './routes/runs/ancestry.js'
import { annotationRoutes } from './routes/runs/annotations.js'
import { artifactRoutes } from './routes/runs/artifacts.js'
import { debugBundleRoutes } from './routes/runs/debug-bundle.js'
import { diffRoutes } from './routes/runs/diff.js'
import { eventRoutes } from './routes/runs/events.js'
import { forkRoutes } from './routes/runs/fork.js'
import { receiptRoutes } from './routes/runs/receipt.js'
import { retryRoutes } from './routes/runs/retry.js'
import { runControlRoutes } from './routes/runs/run-control.js'
import { runRoutes } from './routes/runs/runs.js'
import { transcriptRoutes } from './routes/runs/transcript.js'
import { verificationRoutes } from './routes/runs/verifications.js'
import { withheldRoutes } from './routes/runs/withheld.js'
import { agentRoutes } from './routes/work/agents.js'
import { calibrationRoutes } from './routes/work/calibration.js'
import { chatRoutes } from './routes/work/chat.js'
import { promptRoutes } from './routes/work/prompts.js'
import { scheduleRoutes } from './routes/work/schedules.js'
import { standardRoutes } from './routes/work/standards.js'
import { toolRoutes } from './routes/work/tools.js'
import { workflowRoutes } from './routes/work/workflows.js'

/** Every route there is. */
export function routeTable(edge: Edge): readonly Route[] {
  const table: Route[] = [
    ...metaRoutes(edge, () => table),
    ...workflowRoutes(edge),
    ...scheduleRoutes(edge),
    ...goalRoutes(edge),
    ...standardRoutes(edge),
    ...calibrationRoutes(edge),
    ...agentRoutes(edge),
    ...toolRoutes(edge),
    ...promptRoutes(),
    ...runRoutes(edge),
    ...chatRoutes(edge),
    ...runControlRoutes(edge),
    ...forkRoutes(edge),
    ...retryRoutes(edge),
    ...eventRoutes(edge),
    ...interruptRoutes(edge),
    ...interruptLinkRoutes(edge),
    ...ancestryRoutes(edge),
    ...diffRoutes(edge),
    ...debugBundleRoutes(edge),
    ...annotationRoutes(),
    ...artifactRoutes(edge),
    ...verificationRoutes(edge),
    ...withheldRoutes(edge),
    ...transcriptRoutes(edge),
    ...receiptRoutes(edge),
    ...memoryRoutes(edge),
    ...commitmentRoutes(edge),
    ...workspaceRoutes(edge),
    ...streamRoutes(edge),
    ...keyRoutes(edge),
    ...tenantRoutes(edge),
    ...webhookRoutes(edge),
    ...auditRoutes(edge),
    ...quotaRoutes(edge),
    ...(edge.routes ?? []),
  ]
  return table
}
