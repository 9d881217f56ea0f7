import { AssayClient } from '../src/client/assay-client.js'
import { until } from '../test/support/host-process.js'
import { load, residentMb, type Server } from './serving.js'
import { TURNS } from './workflows.js'

type Say = (line: string) => void

/** Complete hand-off runs as a client sees them, beside no-op runs of the same moment. */
export async function handoffRate(kind: string, host: Server, seconds: number, say: Say): Promise<void> {
  for (const concurrency of [1, 16, 64]) {
    const plain = await load(host, 'noop', concurrency, seconds)
    const handed = await load(host, 'handoff', concurrency, seconds)
    const ratio = (plain.perSecond / handed.perSecond).toFixed(2)
    say(
      `${kind}: hand-off runs at concurrency ${concurrency}: ${handed.perSecond}/s (p50 ${handed.p50} ms, p99 ${handed.p99} ms); a no-op run costs 1, a hand-off run ${ratio}`,
    )
  }
}

/** Milliseconds per turn around turn 10, 1,000 and 10,000 of one run, by the times in its own log, and its memory. */
export async function turnCost(kind: string, host: Server, say: Say): Promise<void> {
  const client = new AssayClient({ url: host.url, key: host.key })
  const before = residentMb(host.pid)
  const { runId } = await client.createRun({ workflowId: 'turns', inputs: {} })
  await until('the loop to end', async () => (await client.getRun(runId)).status === 'completed', 120_000)
  const after = residentMb(host.pid)
  const decided = await turnTimes(client, runId)
  const cost = (turn: number) => ((decided[turn + 90]! - decided[turn]!) / 90).toFixed(3)
  say(
    `${kind}: a loop of ${TURNS} turns: ${cost(9)} ms per turn at turn 10, ${cost(999)} at 1,000, ${cost(9_999)} at 10,000; resident memory ${before} MB before, ${after} MB after`,
  )
}

/** From the start of a new process, after the old one was killed at turn five thousand or later, to the next turn. */
export async function coldResume(kind: string, host: Server, restart: () => Promise<Server>, say: Say): Promise<void> {
  const client = new AssayClient({ url: host.url, key: host.key })
  const { runId } = await client.createRun({ workflowId: 'turns', inputs: {} })
  await until('half of the loop', async () => ((await client.getRun(runId)).loop?.iteration ?? 0) >= 5_000, 60_000)
  await host.stop('SIGKILL')
  const began = performance.now()
  const second = await restart()
  const resumed = new AssayClient({ url: second.url, key: second.key })
  const at = (await resumed.getRun(runId)).loop?.iteration ?? 0
  await until('the next turn', async () => ((await resumed.getRun(runId)).loop?.iteration ?? 0) > at, 60_000)
  const elapsed = (performance.now() - began).toFixed(0)
  say(`${kind}: killed at turn ${at}; ${elapsed} ms from the start of the next process to the turn after it`)
  await until('the loop to end', async () => (await resumed.getRun(runId)).status === 'completed', 120_000)
  await second.stop()
}

async function turnTimes(client: AssayClient, runId: string): Promise<number[]> {
  const events = await client.readEvents(runId)
  return events.filter(event => event.type === 'runOrchestrator.decided').map(event => Date.parse(event.timestamp))
}
