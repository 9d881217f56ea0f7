import type { Command } from 'commander'
import { AssayClient } from '../../client/assay-client.js'
import type { RunAncestry } from '../../client/wire-shapes.js'
import { loadConfig } from '../../config.js'
import type { Cli } from '../cli.js'
import { type CauseStep, causesOf, type ToldRun } from '../reports/causes.js'
import { printable, printJson, printTable } from '../terminal/terminal.js'
import { connect, type GlobalOptions } from './connect.js'

export function addAncestry(runs: Command, { terminal }: Cli): void {
  runs
    .command('ancestry')
    .description('which run has started this one, and how')
    .argument('<runId>')
    .option(
      '--walk',
      'all the way up, and from the last event to the first decision, also over hosts that this folder’s configuration names as peers',
    )
    .action(async (runId: string, _options, command: Command) => {
      const { json, walk, ...options } = command.optsWithGlobals<GlobalOptions & { readonly walk?: true }>()
      const client = await connect(options)
      const first = await client.getAncestry(runId)
      const hosts = new Hosts(first.hostId, client)
      const chain = walk ? await walked(hosts, first) : [first]
      const causes = walk ? await causesOf(first, (hostId, of) => hosts.told(hostId, of)) : []
      if (json) return printJson(terminal, walk ? { ancestry: chain, causes } : first)
      const parents = chain.flatMap(({ parent }) => (parent === null ? [] : [parent]))
      if (parents.length === 0) terminal.note(`no run has started ${printable(runId)}`)
      else
        printTable(
          terminal,
          ['PARENT', 'HOST', 'CAUSE'],
          parents.map(parent => [parent.runId, parent.hostId, parent.cause]),
        )
      if (causes.length > 0) {
        terminal.out('')
        printTable(terminal, ['EVENT', 'HOST', 'WHAT'], causes.map(causeRow))
      }
      const last = chain.at(-1)?.parent
      if (walk && last?.wellKnownUrl !== undefined) terminal.note(`it goes on at ${printable(last.wellKnownUrl)}`)
    })
}

const causeRow = ({ eventId, hostId, type, phase }: CauseStep): string[] => [
  eventId,
  hostId,
  phase === undefined ? type : `${type} ${phase}`,
]

/** No chain of hosts is longer, whatever they say. */
const MOST_HOPS = 1_000

/** One hop at a time, up to a run that nobody has started, or to a host that nothing here has a key for. */
async function walked(hosts: Hosts, first: RunAncestry): Promise<RunAncestry[]> {
  const chain = [first]
  const seen = new Set([nameOf(first)])
  for (let { parent } = first; parent !== null && chain.length < MOST_HOPS; ) {
    if (seen.has(nameOf(parent))) break
    seen.add(nameOf(parent))
    const found = await hosts.ancestry(parent.hostId, parent.runId)
    if (found === undefined) break
    chain.push(found)
    parent = found.parent
  }
  return chain
}

const nameOf = ({ hostId, runId }: Pick<RunAncestry, 'hostId' | 'runId'>): string => `${hostId} ${runId}`

/** Hosts that can be asked: the one that was asked first, and those that the configuration has a key for. */
class Hosts {
  readonly #clients = new Map<string, Promise<AssayClient | undefined>>()
  readonly #told = new Map<string, Promise<ToldRun | undefined>>()

  constructor(
    private readonly first: string,
    client: AssayClient,
  ) {
    this.#clients.set(first, Promise.resolve(client))
  }

  /** Undefined where nobody can be asked, another host answers in its place, or it has no such run any more. */
  async ancestry(hostId: string, runId: string): Promise<RunAncestry | undefined> {
    const client = await this.#clientOf(hostId)
    const found = await client?.getAncestry(runId).catch(error => this.#elsewhere(hostId, error))
    return found?.hostId === hostId ? found : undefined
  }

  told(hostId: string, runId: string): Promise<ToldRun | undefined> {
    const name = nameOf({ hostId, runId })
    const known = this.#told.get(name) ?? this.#read(hostId, runId)
    this.#told.set(name, known)
    return known
  }

  async #read(hostId: string, runId: string): Promise<ToldRun | undefined> {
    const client = await this.#clientOf(hostId)
    const found = await this.ancestry(hostId, runId)
    const events = found && (await client?.readEvents(runId).catch(error => this.#elsewhere(hostId, error)))
    return found && events && { events, parent: found.parent }
  }

  /** What another host does not tell is where the walk ends; what this one does not is an error. */
  #elsewhere(hostId: string, error: unknown): undefined {
    if (hostId === this.first) throw error
  }

  #clientOf(hostId: string): Promise<AssayClient | undefined> {
    const client = this.#clients.get(hostId) ?? clientOf(hostId)
    this.#clients.set(hostId, client)
    return client
  }
}

/** A key goes only where the configuration says, never where an answer points. */
async function clientOf(hostId: string): Promise<AssayClient | undefined> {
  const { peers, readSecret } = loadConfig()
  const peer = Object.values(peers.hosts).find(one => one.hostId === hostId)
  const key = peer?.keyRef && (await readSecret(peer.keyRef))
  return peer && key !== undefined ? new AssayClient({ url: peer.url, key }) : undefined
}
