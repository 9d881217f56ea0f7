import { load, type Server } from './serving.js'

type Say = (line: string) => void

/**
 * What the host adds to a model call: runs of one agent that calls an instant local model once, beside the same number
 * of bare calls to that model and no-op runs of the same moment.
 */
export async function modelCallCost(
  kind: string,
  host: Server,
  model: string,
  seconds: number,
  say: Say,
): Promise<void> {
  for (const concurrency of [1, 16]) {
    const bare = await bareCalls(model, concurrency, seconds)
    const plain = await load(host, 'noop', concurrency, seconds)
    const agent = await load(host, 'agent', concurrency, seconds)
    const added = (1000 / agent.perSecond - 1000 / bare).toFixed(2)
    const ratio = (plain.perSecond / agent.perSecond).toFixed(2)
    say(
      `${kind}: agent runs with one model call at concurrency ${concurrency}: ${agent.perSecond}/s (p50 ${agent.p50} ms, p99 ${agent.p99} ms); bare calls ${bare}/s; the host adds ${added} ms of this machine's time per call; a no-op run costs 1, an agent run ${ratio}`,
    )
  }
}

/** Complete answers per second of the model itself, over as many connections. */
async function bareCalls(model: string, concurrency: number, seconds: number): Promise<number> {
  const until = performance.now() + seconds * 1000
  let calls = 0
  const caller = async () => {
    while (performance.now() < until) {
      const answer = await fetch(`${model}/chat/completions`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', authorization: 'Bearer bench-key' },
        body: JSON.stringify({ model: 'gpt-5-mini', stream: true, messages: [{ role: 'user', content: 'hello' }] }),
      })
      await answer.text()
      calls += 1
    }
  }
  await Promise.all(Array.from({ length: concurrency }, caller))
  return Math.round(calls / seconds)
}
