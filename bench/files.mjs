// What files cost a host in memory: `node bench/files.mjs [MB...]` puts one of each size into the workspace and gets it again,
// each with a host of its own, and prints how far the host's resident memory rose above what it was before, and the time. The
// sender keeps nothing either. `ASSAY_BENCH_BUILD=/another/checkout` measures that build, `ASSAY_BENCH_DATABASE=postgres://…`
// another database than SQLite.
import { spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import os from 'node:os'
import path from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'

const BUILD = process.env.ASSAY_BENCH_BUILD ?? new URL('..', import.meta.url).pathname
const MB = 1024 * 1024
const sizes = process.argv.slice(2).map(Number)

async function freePort() {
  const server = createServer().listen(0, '127.0.0.1')
  await new Promise(resolve => server.once('listening', resolve))
  const { port } = server.address()
  await new Promise(resolve => server.close(resolve))
  return port
}

async function started() {
  const data = mkdtempSync(path.join(os.tmpdir(), 'assay-files-'))
  const port = await freePort()
  const database = process.env.ASSAY_BENCH_DATABASE
  const flags = ['--port', String(port), '--data', data, '--log-level', 'warn', '--project', data]
  const child = spawn(
    process.execPath,
    [path.join(BUILD, 'bin/assay'), 'serve', ...flags, ...(database ? ['--database', database] : [])],
    {
      stdio: ['ignore', 'ignore', 'inherit'],
      env: { ...process.env, ASSAY_WORKSPACE_MAX_FILE_BYTES: String(64 * MB) },
    },
  )
  const url = `http://127.0.0.1:${port}`
  while (
    !(await fetch(`${url}/healthz`).then(
      reply => reply.ok,
      () => false,
    ))
  )
    await wait(100)
  const key = readFileSync(path.join(data, 'local-key'), 'utf8').trim()
  const rss = () => Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${child.pid}/status`, 'utf8'))[1]) / 1024
  const stop = async () => {
    const gone = new Promise(resolve => child.once('exit', resolve))
    child.kill('SIGKILL')
    await gone
    rmSync(data, { recursive: true, force: true })
  }
  return { url, key, rss, stop }
}

/** Bytes that are no text, made as they are sent. */
function bytes(count) {
  let left = count
  const chunk = new Uint8Array(65_536).map((_, i) => (i * 7) % 251)
  return new ReadableStream({
    pull(controller) {
      const next = chunk.subarray(0, Math.min(left, chunk.length))
      left -= next.length
      if (next.length > 0) controller.enqueue(next.slice())
      else controller.close()
    },
  })
}

async function measured({ rss }, work) {
  const before = rss()
  let peak = before
  const sampling = setInterval(() => (peak = Math.max(peak, rss())), 5)
  const began = performance.now()
  await work()
  clearInterval(sampling)
  return { grown: Math.round(Math.max(peak, rss()) - before), ms: Math.round(performance.now() - began) }
}

console.log('file       PUT: memory grown      time    GET: memory grown      time')
for (const size of sizes.length > 0 ? sizes : [1, 8, 60]) {
  const host = await started()
  const headers = { authorization: `Bearer ${host.key}` }
  const url = `${host.url}/v1/host/workspace/files/a.bin`
  const call = async (to, init) => {
    const reply = await fetch(to, init)
    if (!reply.ok) throw new Error(`${reply.status} ${await reply.text()}`)
    let count = 0
    for await (const chunk of reply.body) count += chunk.length
    return count
  }
  const sent = { method: 'PUT', headers: { ...headers, 'content-type': 'application/x-any' }, duplex: 'half' }
  await call(url, { ...sent, body: new Uint8Array([0, 1]) })
  const put = await measured(host, () => call(url, { ...sent, body: bytes(size * MB) }))
  const get = await measured(host, async () => {
    const count = await call(`${url}?raw=true`, { headers })
    if (count !== size * MB) throw new Error(`came back with ${count} bytes`)
  })
  const cells = [`${size} MB`.padEnd(8), `${put.grown} MB`.padStart(18), `${put.ms} ms`.padStart(10)]
  console.log([...cells, `${get.grown} MB`.padStart(18), `${get.ms} ms`.padStart(10)].join(' '))
  await host.stop()
}
