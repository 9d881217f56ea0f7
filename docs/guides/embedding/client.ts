import { readFile } from 'node:fs/promises'
import { AssayClient, AssayError } from 'assay/client'

const url = process.env.ASSAY_URL ?? 'http://127.0.0.1:4100'
const key = process.env.ASSAY_API_KEY ?? (await readFile('.assay/local-key', 'utf8')).trim()
const assay = new AssayClient({ url, key })

const { runId } = await assay.createRun({ workflowId: 'approval', inputs: { draft: 'It ships on Monday.' } })

for await (const event of assay.followEvents(runId)) {
  console.log(event.sequence, event.type)
  if (event.type === 'interrupt.requested' && event.nodeId !== undefined) {
    await assay.resolveInterrupt(runId, event.nodeId, { action: 'accept' })
  }
}

const { status, outputs } = await assay.getRun(runId)
console.log(status, JSON.stringify(outputs))

try {
  await assay.cancelRun('no-such-run')
} catch (error) {
  if (!(error instanceof AssayError)) throw error
  console.log('refused:', error.status, error.code)
}
