import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { chownSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import pg from 'pg'
import { freePort } from './free-port.js'
import { type Account, postgresAccount, postgresFiles } from './postgres-binaries.js'

/** A real PostgreSQL of our own: loopback only, data in a temporary folder. */
export type TestPostgres = {
  /** The `postgres` database of the cluster. */
  readonly url: string
  readonly port: number
  /** A new, empty database; its URL. */
  createDatabase(): Promise<string>
  /** Sends a signal to the server and waits until it has exited. */
  kill(signal: NodeJS.Signals): Promise<void>
  /** Starts the server again on the same data and port. */
  restart(): Promise<void>
  stop(): Promise<void>
}

let shared: Promise<TestPostgres> | undefined

/** One cluster per process, until it is stopped. It need not be durable where nothing but its clients is killed. */
export function startPostgres({ durable = true } = {}): Promise<TestPostgres> {
  shared ??= start(durable).catch(error => {
    shared = undefined
    throw error
  })
  return shared
}

async function start(durable: boolean): Promise<TestPostgres> {
  const cluster = new Cluster(durable)
  const port = await cluster.start()
  const url = (database: string) => `postgres://postgres:${cluster.password}@127.0.0.1:${port}/${database}`
  return {
    url: url('postgres'),
    port,
    createDatabase: async () => {
      const name = `test_${randomBytes(6).toString('hex')}`
      const client = new pg.Client(url('postgres'))
      await client.connect()
      try {
        await client.query(`CREATE DATABASE ${name}`)
      } finally {
        await client.end()
      }
      return url(name)
    },
    kill: signal => cluster.kill(signal),
    restart: () => cluster.run(port),
    stop: async () => {
      shared = undefined
      await cluster.stop()
    },
  }
}

class Cluster {
  readonly password = randomBytes(12).toString('hex')
  readonly #account: Account = postgresAccount()
  readonly #files = postgresFiles()
  readonly #data = mkdtempSync(join(tmpdir(), 'assay-postgres-'))
  readonly #onExit = () => this.#discard()
  #server: ChildProcess | undefined
  #log = ''

  constructor(private readonly durable: boolean) {}

  /** Returns the port. Another process may take it between our look and the server's, so there are some tries. */
  async start(): Promise<number> {
    process.on('exit', this.#onExit)
    this.#initialise()
    for (let tries = 1; ; tries += 1) {
      const port = await freePort()
      try {
        await this.run(port)
        return port
      } catch (error) {
        if (tries === 5) throw error
      }
    }
  }

  /** Starts the server and waits until it takes connections. */
  async run(port: number): Promise<void> {
    const deadline = Date.now() + 60_000
    while (!(await this.#answers(port))) {
      if (Date.now() > deadline) throw new Error(`PostgreSQL does not start:\n${this.#log}`)
      // After a kill, processes of the old server may still be leaving; the new one then refuses and is tried again.
      if (!this.#server) this.#spawn(port)
      await delay(20)
    }
  }

  async kill(signal: NodeJS.Signals): Promise<void> {
    const server = this.#server
    if (!server) return
    const exit = once(server, 'exit')
    server.kill(signal)
    await exit
    if (signal === 'SIGKILL') rmSync(join(this.#data, 'postmaster.pid'), { force: true })
  }

  async stop(): Promise<void> {
    await this.kill('SIGINT')
    process.off('exit', this.#onExit)
    this.#discard()
  }

  #initialise(): void {
    const passwordFile = `${this.#data}.password`
    writeFileSync(passwordFile, `${this.password}\n`, { mode: 0o600 })
    if (this.#account.uid !== undefined && this.#account.gid !== undefined) {
      for (const path of [this.#data, passwordFile]) chownSync(path, this.#account.uid, this.#account.gid)
    }
    const flags = ['--username=postgres', '--auth=scram-sha-256', `--pwfile=${passwordFile}`, '--encoding=UTF8']
    try {
      execFileSync(
        join(this.#files, 'bin', 'initdb'),
        [`--pgdata=${this.#data}`, '--locale=C', '--no-sync', ...flags],
        {
          ...this.#account,
          cwd: '/',
          stdio: 'pipe',
        },
      )
    } finally {
      rmSync(passwordFile)
    }
  }

  #spawn(port: number): void {
    const sync = this.durable ? 'on' : 'off'
    const settings = [
      `fsync=${sync}`,
      `synchronous_commit=${sync}`,
      'listen_addresses=127.0.0.1',
      'unix_socket_directories=',
    ]
    const flags = ['-D', this.#data, '-p', String(port), ...settings.flatMap(setting => ['-c', setting])]
    const server = spawn(join(this.#files, 'bin', 'postgres'), flags, {
      ...this.#account,
      cwd: '/',
      stdio: ['ignore', 'ignore', 'pipe'],
    })
    server.stderr?.on('data', (chunk: Buffer) => {
      this.#log = (this.#log + chunk.toString()).slice(-10_000)
    })
    server.on('exit', () => {
      if (this.#server === server) this.#server = undefined
    })
    this.#server = server
  }

  async #answers(port: number): Promise<boolean> {
    if (!this.#server) return false
    const client = new pg.Client({ host: '127.0.0.1', port, user: 'postgres', password: this.password })
    try {
      await client.connect()
      await client.end()
      return true
    } catch {
      return false
    }
  }

  #discard(): void {
    this.#server?.kill('SIGKILL')
    rmSync(this.#data, { recursive: true, force: true })
  }
}
