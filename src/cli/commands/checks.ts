import fs from 'node:fs/promises'
import path from 'node:path'
import { AssayClient } from '../../client/assay-client.js'
import { AssayError } from '../../client/assay-error.js'
import { localKeyFile } from '../../client/local-key.js'
import { accepts } from '../../client/probe.js'
import { type Config, usableProviders } from '../../config.js'

/** One thing `assay doctor` looked at. `todo` is set unless all is well. */
export type DoctorCheck = {
  readonly name: string
  readonly level: 'ok' | 'warn' | 'fail'
  readonly found: string
  readonly todo?: string
}

const ok = (name: string, found: string): DoctorCheck => ({ name, level: 'ok', found })
const warn = (name: string, found: string, todo: string): DoctorCheck => ({ name, level: 'warn', found, todo })
const fail = (name: string, found: string, todo: string): DoctorCheck => ({ name, level: 'fail', found, todo })

const MIB = 1024 * 1024

export function checkNode(version: string): DoctorCheck {
  const [major = 0, minor = 0] = version.split('.').map(Number)
  const isEnough = major > 20 || (major === 20 && minor >= 19)
  return isEnough ? ok('node', version) : fail('node', version, 'install Node 20.19 or newer')
}

export async function checkDataFolder(data: string): Promise<DoctorCheck> {
  const stat = await statIfPresent(data)
  if (stat === undefined)
    return warn('data folder', `${data} does not exist`, 'it is made when the server first starts')
  if (!stat.isDirectory()) return fail('data folder', `${data} is not a folder`, 'choose another with --data')
  const probe = path.join(data, `.doctor-${process.pid}`)
  try {
    await fs.writeFile(probe, '')
    await fs.rm(probe)
  } catch (error) {
    return fail('data folder', `${data}: ${(error as Error).message}`, 'make it writable for this user')
  }
  if ((stat.mode & 0o077) !== 0) return warn('data folder', `${data} is open to other users`, `chmod 700 ${data}`)
  return ok('data folder', data)
}

export async function checkLocalKey(config: Pick<Config, 'data' | 'apiKey'>): Promise<DoctorCheck> {
  if (config.apiKey !== undefined) return ok('key', 'ASSAY_API_KEY is set')
  const file = localKeyFile(config.data)
  const stat = await statIfPresent(file)
  if (stat === undefined) return warn('key', 'none yet', 'one is made when the server first starts on this machine')
  if ((stat.mode & 0o077) !== 0)
    return fail('key', `${file} can be read by other users`, `delete it and restart the server`)
  return ok('key', file)
}

/** Whether the models that agents would ask can be asked. No request is made: that would cost something. */
export async function checkModels(config: Pick<Config, 'agents' | 'readSecret'>): Promise<DoctorCheck> {
  const { worker, supervisor, verifier, classes } = config.agents.models
  const used = [worker, supervisor, verifier, ...Object.values(classes)]
  const names = [...new Set(used.map(({ provider, model }) => `${provider}:${model}`))].join(', ')
  const usable = await usableProviders(config)
  const missing = used.find(({ provider }) => !usable.includes(provider))
  if (missing === undefined) return ok('models', names)
  const key = config.agents.models.providers[missing.provider]?.apiKey
  const place = key === undefined ? '' : 'env' in key ? `set ${key.env}` : `put it into ${key.file}`
  return fail('models', `${names}: there is no key for ${missing.provider}`, place)
}

export async function checkDisk(data: string): Promise<DoctorCheck> {
  const place = (await statIfPresent(data)) === undefined ? path.dirname(data) : data
  const { bavail, bsize } = await fs.statfs(place)
  const free = Math.floor((bavail * bsize) / MIB)
  const found = `${free} MiB free`
  if (free < 100) return fail('disk', found, 'free some space: the server refuses to write when the disk is full')
  return free < 1024 ? warn('disk', found, 'free some space soon') : ok('disk', found)
}

/** Only what can be seen without opening it: the server owns its database. */
export async function checkDatabase({ database }: Pick<Config, 'database'>): Promise<DoctorCheck> {
  if (database.kind === 'memory') return warn('database', 'memory only', 'everything is lost when the server stops')
  if (database.kind === 'postgres') return checkPostgres(database.url)
  const handle = await openIfPresent(database.file)
  if (handle === undefined)
    return warn('database', `${database.file} does not exist`, 'it is made when the server first starts')
  try {
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(16), 0, 16, 0)
    const isDatabase = bytesRead === 0 || buffer.toString('latin1') === 'SQLite format 3\0'
    if (isDatabase) return ok('database', database.file)
    return fail('database', `${database.file} is not an SQLite database`, 'choose another with --database')
  } finally {
    await handle.close()
  }
}

async function checkPostgres(text: string): Promise<DoctorCheck> {
  const url = new URL(text)
  const [host, port] = [url.hostname || 'localhost', Number(url.port || 5432)]
  if (await accepts(host, port)) return ok('database', `PostgreSQL answers at ${host}:${port}`)
  return fail('database', `nothing answers at ${host}:${port}`, 'start PostgreSQL, or correct --database')
}

export async function checkPort(
  { host, port }: Pick<Config, 'host' | 'port'>,
  serverUrl: string | undefined,
): Promise<DoctorCheck> {
  const isTaken = port !== 0 && (await accepts(host, port))
  if (!isTaken) return ok('port', serverUrl === undefined ? `${port} is free` : `${port}`)
  if (serverUrl !== undefined && Number(new URL(serverUrl).port) === port) return ok('port', `${port} is the server’s`)
  return warn('port', `${port} is used by another program`, 'serve on another with --port')
}

/** Whether a server answers, agrees about the time, and accepts the key. */
export async function checkServer(url: string, key: string | undefined, now: number): Promise<DoctorCheck[]> {
  let date = Number.NaN
  const observe = (response: Response) => {
    date = Date.parse(response.headers.get('date') ?? '')
  }
  const client = new AssayClient({ url, key, observe, timeoutMs: 5000 })
  try {
    await client.discover()
  } catch (error) {
    if (!(error instanceof AssayError)) throw error
    return [warn('server', error.message, 'start it with `npm start` or `assay serve`')]
  }
  const skew = Math.round(Math.abs(date - now) / 1000)
  const clock =
    skew > 60
      ? warn('clock', `the server’s clock differs by ${skew} s`, 'set both clocks by NTP')
      : ok('clock', new Date(now).toISOString())
  return [await checkHealth(client), clock, await checkKeyAccepted(client), ...(await checkToolServers(client))]
}

async function checkHealth(client: AssayClient): Promise<DoctorCheck> {
  try {
    await client.health()
    return ok('server', client.connection.url)
  } catch (error) {
    if (!(error instanceof AssayError)) throw error
    const reasons = JSON.stringify(error.details.reasons ?? error.code)
    return fail('server', `${error.message} ${reasons}`, 'see the server’s log')
  }
}

/** MCP servers as the running server has them; a key that may not know leaves them out. */
async function checkToolServers(client: AssayClient): Promise<DoctorCheck[]> {
  const found = await client.transcripts.toolServers().catch(error => {
    if (error instanceof AssayError) return undefined
    throw error
  })
  return (found?.servers ?? []).map(({ name, problem }) =>
    problem === undefined
      ? ok(`mcp:${name}`, 'can be used')
      : fail(`mcp:${name}`, problem, 'see what it wrote last: assay tools servers'),
  )
}

async function checkKeyAccepted(client: AssayClient): Promise<DoctorCheck> {
  try {
    await client.listWorkflows()
    return ok('key accepted', 'yes')
  } catch (error) {
    if (!(error instanceof AssayError)) throw error
    return fail(
      'key accepted',
      error.message,
      'give a valid key with --key or ASSAY_API_KEY, or the server’s --data folder',
    )
  }
}

async function statIfPresent(file: string) {
  try {
    return await fs.stat(file)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}

async function openIfPresent(file: string) {
  try {
    return await fs.open(file, 'r')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}
