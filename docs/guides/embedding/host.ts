import { createHost } from 'assay'
import { AssayClient } from 'assay/client'
import { desk } from './desk.js'

const host = await createHost({ project: 'shop', settings: { 'log.level': 'warn' }, providers: { desk } })
await host.start()
try {
  const assay = new AssayClient(host.connection)
  const { runId } = await assay.createRun({ workflowId: 'triage', inputs: { text: 'I want a refund.' } })
  for await (const event of assay.followEvents(runId)) {
    if (event.type === 'runOrchestrator.decided') console.log('decided', JSON.stringify(event.payload))
  }
  const { status, outputs } = await assay.getRun(runId)
  console.log(status, JSON.stringify(outputs))
} finally {
  await host.stop()
}
