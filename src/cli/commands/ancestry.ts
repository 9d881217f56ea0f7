import type { Command } from 'commander'
import { AssayClient } from '../../client/assay-client.js'
import type { RunAncestry } from '../../client/wire-shapes.js'
import { loadConfig } from '../../config.js'
import type { Cli } from '../cli.js'
import { printable, printJson, printTable } from '../terminal/terminal.js'
import { connect, type GlobalOptions } from './connect.js'

export function addAncestry(runs: Command, { terminal }: Cli): void {
  runs
    .command('ancestry')
    .description('which run has started this one, and how')
    .argument('<runId>')
    .option('--walk', 'all the way up, also over hosts that this folder’s configuration names as peers')
    .action(async (runId: string, _options, command: Command) => {
      const { json, walk, ...options } = command.optsWithGlobals<GlobalOptions & { readonly walk?: true }>()
      const client = await connect(options)
      const first = await client.getAncestry(runId)
      const chain = walk ? await walked(client, first) : [first]
      if (json) return printJson(terminal, walk ? { ancestry: chain } : first)
      const parents = chain.flatMap(({ parent }) => (parent === null ? [] : [parent]))
      if (parents.length === 0) terminal.note(`no run has started ${printable(runId)}`)
      else
        printTable(
          terminal,
          ['PARENT', 'HOST', 'CAUSE'],
          parents.map(parent => [parent.runId, parent.hostId, parent.cause]),
        )
      const last = chain.at(-1)?.parent
      if (walk && last?.wellKnownUrl !== undefined) terminal.note(`it goes on at ${printable(last.wellKnownUrl)}`)
    })
}

/** No chain of hosts is longer, whatever they say. */
const MOST_HOPS = 1_000

/** One hop at a time, up to a run that nobody has started, or to a host that nothing here has a key for. */
async function walked(client: AssayClient, first: RunAncestry): Promise<RunAncestry[]> {
  const chain = [first]
  const seen = new Set([nameOf(first)])
  const clients = new Map([[first.hostId, client]])
  for (let { parent } = first; parent !== null && chain.length < MOST_HOPS; ) {
    const next = clients.get(parent.hostId) ?? (await clientOf(parent.hostId))
    if (next === undefined || seen.has(nameOf(parent))) break
    clients.set(parent.hostId, next)
    seen.add(nameOf(parent))
    const found = await next.getAncestry(parent.runId)
    // Where another host answers in its place, the chain ends.
    if (found.hostId !== parent.hostId) break
    chain.push(found)
    parent = found.parent
  }
  return chain
}

const nameOf = ({ hostId, runId }: Pick<RunAncestry, 'hostId' | 'runId'>): string => `${hostId} ${runId}`

/** A key goes only where the configuration says, never where an answer points. */
async function clientOf(hostId: string): Promise<AssayClient | undefined> {
  const { peers, readSecret } = loadConfig()
  const peer = Object.values(peers.hosts).find(one => one.hostId === hostId)
  const key = peer?.keyRef && (await readSecret(peer.keyRef))
  return peer && key !== undefined ? new AssayClient({ url: peer.url, key }) : undefined
}
