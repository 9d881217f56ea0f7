import fs from 'node:fs/promises'
import type { Command } from 'commander'
import pc from 'picocolors'
import type { Integrity } from '../../../audit/verify.js'
import { AssayClient } from '../../../client/assay-client.js'
import type { AuditSlice } from '../../../client/wire-shapes.js'
import { type Database, loadConfig, storeOf } from '../../../config.js'
import { checkLog } from '../../../log-check/check-log.js'
import type { CheckedRun, CheckInput, Finding } from '../../../log-check/checked.js'
import { fromWire } from '../../../log-check/read-log.js'
import type { Cli } from '../../cli.js'
import { EXIT } from '../../terminal/exit-code.js'
import { printable, printJson, type Terminal } from '../../terminal/terminal.js'
import { UsageError } from '../../terminal/usage-error.js'
import { connect, type GlobalOptions } from '../connect.js'

type Options = GlobalOptions & {
  readonly all?: true
  readonly tenant?: string
  readonly file?: string
  readonly integrity?: true
  readonly sealed?: true
  readonly database?: string
}

type AuditAnomalyDoc = AuditSlice['anomalies'][number]

export function addVerify(program: Command, cli: Cli): void {
  program
    .command('verify')
    .description('check stored logs against the contract')
    .argument('[runId...]', 'a run, with its children')
    .option('--all', 'every run of the tenant')
    .option(
      '--tenant <name>',
      'look into this tenant, with --all also * for every one; needs a key with tenants:manage',
    )
    .option('--file <log.json>', 'a log in a file, of this or any other OpenWOP host')
    .option('--integrity', 'check instead that nothing was changed: hash chains and signed checkpoints, read directly')
    .option('--sealed', 'have the server check its signed checkpoints, and the logs of this tenant that they cover')
    .option('--database <url>', 'with --integrity: the database, unless it is in the data folder')
    .action(async (runIds: string[], _options, command: Command) => {
      const options = command.optsWithGlobals<Options>()
      if (options.integrity) return verifyIntegrity(cli, runIds, options)
      if (options.database !== undefined) throw new UsageError('--database is for --integrity')
      if (options.sealed) return verifySealed(cli, runIds, options)
      if ([...runIds, options.all, options.file].filter(given => given !== undefined).length !== 1) {
        throw new UsageError('say what to verify: a run id, --all or --file')
      }
      const [runId] = runIds
      if (options.tenant !== undefined && options.file !== undefined) throw new UsageError('a file has no tenant')
      const looked = options.file === undefined ? await readFrom(options, runId) : [await readLog(options.file)]
      const findings = looked.flatMap(checkLog)
      report(cli.terminal, looked, findings, options)
      cli.exit(findings.length === 0 ? EXIT.ok : EXIT.failed)
    })
}

async function readLog(file: string): Promise<CheckInput> {
  try {
    return { ...fromWire(JSON.parse(await fs.readFile(file, 'utf8'))), dialect: 'openwop' }
  } catch (error) {
    if (error instanceof SyntaxError || error instanceof TypeError) throw new UsageError(`${file}: ${error.message}`)
    throw error
  }
}

/** What was read of a tenant; of a file, nobody knows whose it is. */
type Looked = CheckInput & { readonly tenant?: string }

/** One run with what belongs to it, or all there is: of the key's own tenant, of the one that is named, or of each. */
async function readFrom(options: Options, runId: string | undefined): Promise<Looked[]> {
  const client = await connect(options)
  const own = await client.ownKey()
  const { tenant = own.tenant } = options
  if (tenant !== own.tenant && !own.scopes.includes('tenants:manage'))
    throw new UsageError(`--tenant ${tenant} needs a key with tenants:manage, and this one is of tenant ${own.tenant}`)
  if (tenant === ALL && runId !== undefined) throw new UsageError('a run has one tenant; name it, or leave it out')
  const tenants = tenant === ALL ? await everyTenant(client, own.tenant) : [tenant]
  const looked: Looked[] = []
  for (const name of tenants) {
    const there = name === own.tenant ? client : new AssayClient({ ...client.connection, tenant: name })
    looked.push({ ...(await readTenant(there, runId)), tenant: name })
  }
  return looked
}

const ALL = '*'

/** Tenants begin with a key, and no key is ever forgotten. */
async function everyTenant(client: AssayClient, own: string): Promise<readonly string[]> {
  const { keys } = await client.listKeys()
  return [...new Set([own, ...keys.map(({ tenant, test }) => (test ? `${tenant}~test` : tenant))])].sort()
}

/** One run, all below it and what it was forked from, or every run. */
async function readTenant(client: AssayClient, runId: string | undefined): Promise<CheckInput> {
  const definitionOf = await definitions(client)
  const runs: CheckedRun[] = []
  if (runId === undefined) {
    for await (const { runId: id } of client.allRuns({ host: 'true' }))
      runs.push((await readRun(client, id, definitionOf)).run)
    return { runs, complete: true }
  }
  for (const queue = [runId]; queue.length > 0; ) {
    const { run, related } = await readRun(client, queue.shift() as string, definitionOf)
    runs.push(run)
    queue.push(...related.filter(id => !queue.includes(id) && runs.every(known => known.runId !== id)))
  }
  return { runs }
}

type DefinitionOf = (workflowId: string, digest: unknown) => Promise<unknown>

/** The definition a run was started with, if the server still has that one. */
async function definitions(client: AssayClient): Promise<DefinitionOf> {
  const { workflows } = await client.listWorkflows()
  const digests = new Map(workflows.map(workflow => [workflow.workflowId, workflow.digest]))
  const cache = new Map<string, Promise<unknown>>()
  return async (workflowId, digest) => {
    if (digest === undefined || digests.get(workflowId) !== digest) return undefined
    const cached = cache.get(workflowId) ?? client.getWorkflow(workflowId)
    cache.set(workflowId, cached)
    return cached
  }
}

async function readRun(client: AssayClient, runId: string, definitionOf: DefinitionOf) {
  // The snapshot comes first: what it says of an ended run holds for any log read later.
  const snapshot = await client.getRun(runId)
  const [read] = fromWire(await client.readEvents(runId)).runs
  const started = read?.events[0]?.payload as { workflowDigest?: unknown } | undefined
  const definition = await definitionOf(snapshot.workflowId, started?.workflowDigest)
  const hasEnded = ['completed', 'failed', 'cancelled'].includes(snapshot.status)
  const { status, variables, channels, parentRunId = null, parentNodeId = null, forkedFrom } = snapshot
  const run: CheckedRun = {
    runId,
    events: read?.events ?? [],
    fork: forkedFrom === undefined ? null : { ...forkedFrom, sourceRunId: forkedFrom.runId },
    ...(definition !== undefined && { definition }),
    ...(hasEnded && {
      row: { status, parentRunId, parentNodeId },
      snapshot: { ...(variables && { variables }), ...(channels && { channels }) },
    }),
  }
  const children = (snapshot.childRuns ?? []).map(child => child.runId)
  return { run, related: forkedFrom === undefined ? children : [...children, forkedFrom.runId] }
}

function report(terminal: Terminal, looked: readonly Looked[], findings: readonly Finding[], options: Options): void {
  const runs = looked.flatMap(input => input.runs)
  const events = runs.reduce((sum, run) => sum + run.events.length, 0)
  const tenants = looked.flatMap(({ tenant }) => tenant ?? [])
  const whose = tenants.length > 0 ? { tenants } : {}
  if (options.json) return printJson(terminal, { runs: runs.length, events, ...whose, findings })
  for (const { rule, runId, sequence, message } of findings) {
    const place = sequence === undefined ? runId : `${runId}:${sequence}`
    terminal.out(`${pc.red(rule)} ${printable(place)}  ${printable(message)}`)
  }
  const verdict = findings.length === 0 ? pc.green('no findings') : pc.red(`${findings.length} findings`)
  const of = tenants.length > 0 ? ` of tenant${tenants.length === 1 ? '' : 's'} ${tenants.join(', ')}` : ''
  terminal.out(`${runs.length} runs, ${events} events${printable(of)}: ${verdict}`)
}

/** Asks the server, a slice at a time, so that nobody waits for it. */
async function verifySealed(cli: Cli, runIds: readonly string[], options: Options): Promise<void> {
  if (runIds.length > 0 || options.all || options.file !== undefined)
    throw new UsageError('--sealed takes no runs: it is about all that is sealed of this tenant')
  const found = { checkpoints: 0, chainValid: true, checkpointsValid: true, anomalies: [] as AuditAnomalyDoc[] }
  for await (const { checkpoints, chainValid, checkpointsValid, anomalies } of (await connect(options)).verifyAudit()) {
    found.checkpoints += checkpoints.length
    found.chainValid &&= chainValid
    found.checkpointsValid &&= checkpointsValid
    found.anomalies.push(...anomalies)
  }
  if (options.json) printJson(cli.terminal, found)
  else {
    for (const { runId, message } of found.anomalies)
      cli.terminal.out(printable(runId === undefined ? message : `run ${runId}: ${message}`))
    const verdict = found.anomalies.length === 0 ? pc.green('intact') : pc.red(`${found.anomalies.length} anomalies`)
    cli.terminal.out(`${found.checkpoints} checkpoints: ${verdict}`)
  }
  cli.exit(found.anomalies.length === 0 ? EXIT.ok : EXIT.failed)
}

/** Asks no server: whoever wants to know whether a database was changed need not trust what it is served by. */
async function verifyIntegrity(cli: Cli, runIds: readonly string[], options: Options): Promise<void> {
  const isClear = options.file === undefined && runIds.length > 0 !== (options.all === true)
  if (!isClear) throw new UsageError('say what to verify with --integrity: run ids or --all')
  const { data, database } = loadConfig({ data: options.data, database: options.database })
  // Loaded when asked for: the stores would slow down every other command.
  const { verifyDatabase } = await import('../../../audit/data-folder.js')
  const [url, access] = storeOf(await existing(database))
  const found = await verifyDatabase(url, data, options.all ? 'all' : runIds, access)
  reportIntegrity(cli.terminal, found, options)
  cli.exit(found.anomalies.length === 0 ? EXIT.ok : EXIT.failed)
}

/** One that does not exist is not made. */
async function existing(database: Database): Promise<Database> {
  if (database.kind === 'postgres') return database
  if (database.kind === 'memory')
    throw new UsageError('a database in memory is gone with its server; nothing to verify')
  try {
    await fs.access(database.file)
  } catch (error) {
    throw new UsageError(`${database.file}: ${(error as Error).message}; choose another with --data or --database`)
  }
  return database
}

function reportIntegrity(terminal: Terminal, found: Integrity, options: Options): void {
  if (options.json) return printJson(terminal, found)
  const { runs, events, older, purged, erased, unproven, checkpoints, signatures, anomalies } = found
  for (const { runId, message } of anomalies) {
    terminal.out(printable(runId === undefined ? message : `run ${runId}: ${message}`))
  }
  if (older > 0) terminal.out(`${older} events are older than the chain; nothing can be said of them`)
  if (purged > 0) terminal.out(`${purged} runs were purged when their retention was over, as their checkpoints tell`)
  if (unproven > 0)
    terminal.out(`${unproven} erased events are older than salted digests; only what follows proves them`)
  const whole = erased === 0 ? 'intact' : `intact, content of ${erased} runs erased`
  const verdict = anomalies.length === 0 ? pc.green(whole) : pc.red(`${anomalies.length} anomalies`)
  terminal.out(`${runs} runs, ${events} events, ${checkpoints} checkpoints, ${signatures} valid signatures: ${verdict}`)
}
