/**
 * Makes a clone ready to run: dependencies as package-lock.json says, dist/ built from src/. Does nothing, quickly and
 * without child processes, when both are current, and nothing at all in an installed package (which has no src/).
 *
 *  1. Two processes may do this at once: the work happens under `dist/.setup-lock`, and a lock whose holder died is
 *     taken over.
 *  2. A stamp is written only after the work it stands for succeeded, and describes the files as they were before it
 *     began, so an edit during a build leads to another build.
 */
import { spawnSync } from 'node:child_process'
import { createHash, randomUUID } from 'node:crypto'
import fs from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'

export const root = path.dirname(path.dirname(fileURLToPath(import.meta.url)))

const at = (...parts) => path.join(root, ...parts)
const installStamp = at('node_modules', '.assay-setup')
const buildStamp = at('dist', '.assay-build')
const lockFile = at('dist', '.setup-lock')
const LOCK_LIFETIME_MS = 20 * 60_000

/**
 * Throws SetupFailed, after the failing step has explained itself on stderr. `clean` builds dist/ from nothing, so that
 * nothing stays in it whose source is gone.
 */
export async function setup({ clean = false } = {}) {
  if (!fs.existsSync(at('src')) || (!clean && isReady())) return
  fs.mkdirSync(at('dist'), { recursive: true })
  const release = await lock()
  try {
    if (clean) emptyDist()
    install()
    build()
  } finally {
    release()
  }
}

export class SetupFailed extends Error {
  name = 'SetupFailed'
}

const isReady = () => read(installStamp) === lockDigest() && read(buildStamp) === sourceDigest()

function install() {
  const wanted = lockDigest()
  if (read(installStamp) === wanted) return
  if (!isInstalled()) {
    say('installing dependencies (the first time takes about a minute)')
    // Not `npm ci`: that refuses a lock file without the binaries of other platforms, which a registry mirror may lack,
    // and it deletes node_modules under whatever is running. What counts is checked afterwards.
    run('npm', [
      'install',
      '--no-save',
      '--ignore-scripts',
      '--no-audit',
      '--no-fund',
      '--no-progress',
      '--loglevel=error',
    ])
    if (!isInstalled()) throw new SetupFailed('setup failed: node_modules is not what package-lock.json demands')
  }
  fs.writeFileSync(installStamp, wanted)
}

/** True when npm's own record of node_modules holds every package the lock file demands, as after `npm install` by hand. */
function isInstalled() {
  const record = read(at('node_modules', '.package-lock.json'))
  if (record === undefined) return false
  const present = JSON.parse(record).packages
  return Object.entries(JSON.parse(fs.readFileSync(at('package-lock.json'), 'utf8')).packages).every(
    ([place, wanted]) =>
      place === '' || wanted.optional || wanted.devOptional || present[place]?.version === wanted.version,
  )
}

function emptyDist() {
  for (const name of fs.readdirSync(at('dist'))) {
    if (!name.startsWith(path.basename(lockFile))) fs.rmSync(at('dist', name), { recursive: true })
  }
}

function build() {
  const digest = sourceDigest()
  if (read(buildStamp) === digest) return
  say('building')
  fs.rmSync(buildStamp, { force: true })
  run(process.execPath, [at('node_modules', 'typescript', 'bin', 'tsc'), '-p', at('tsconfig.json')])
  copyAssets()
  fs.writeFileSync(buildStamp, digest)
}

/** One whose source is gone goes: it would be found in its folder, as a migration is. */
function copyAssets() {
  for (const name of fs.readdirSync(at('dist'), { recursive: true })) {
    if (isAsset(name) && !fs.existsSync(at('src', name))) fs.rmSync(at('dist', name))
  }
  for (const file of sourceFiles().filter(isAsset)) {
    const target = at('dist', path.relative(at('src'), file))
    fs.mkdirSync(path.dirname(target), { recursive: true })
    fs.copyFileSync(file, target)
  }
}

const lockDigest = () => sha256(fs.readFileSync(at('package-lock.json')))

function sourceDigest() {
  const files = [...sourceFiles(), at('tsconfig.json'), at('tsconfig.base.json'), at('package.json')]
  const lines = files.map(file => {
    const { size, mtimeMs } = fs.statSync(file)
    return `${path.relative(root, file)} ${size} ${mtimeMs}`
  })
  return sha256(lines.sort().join('\n'))
}

const isSource = name => name.endsWith('.ts') && !name.endsWith('.test.ts')
/** Files that the build copies beside the code that reads them. */
const isAsset = name => name.endsWith('.sql') || (name.endsWith('.json') && !path.basename(name).startsWith('tsconfig'))

const sourceFiles = () =>
  fs
    .readdirSync(at('src'), { recursive: true })
    .filter(name => isSource(name) || isAsset(name))
    .map(name => at('src', name))

function run(command, args) {
  const { status, error } = spawnSync(command, args, {
    cwd: root,
    stdio: ['ignore', 2, 2],
    shell: process.platform === 'win32',
  })
  if (status === 0) return
  const reason = error?.message ?? `exit code ${status}`
  throw new SetupFailed(`setup failed: ${path.basename(command)} ${args[0]}: ${reason}`)
}

/** Resolves with the function that gives the lock back. */
async function lock() {
  const token = `${process.pid} ${randomUUID()}`
  const mine = `${lockFile}.${process.pid}`
  fs.writeFileSync(mine, token)
  for (let waited = false; ; waited = true) {
    if (link(mine, lockFile)) break
    const holder = read(lockFile)
    if (holder === undefined) continue
    if (isStale(holder)) {
      breakLock(holder)
      continue
    }
    if (!waited) say('waiting for another setup to finish')
    await new Promise(resolve => setTimeout(resolve, 100))
  }
  fs.rmSync(mine)
  return () => fs.rmSync(lockFile, { force: true })
}

/** Creates `to` with the content of `from` in one step; false when it exists. */
function link(from, to) {
  try {
    fs.linkSync(from, to)
    return true
  } catch (error) {
    if (error.code === 'EEXIST') return false
    throw error
  }
}

function isStale(holder) {
  const age = Date.now() - (fs.statSync(lockFile, { throwIfNoEntry: false })?.mtimeMs ?? Date.now())
  if (age > LOCK_LIFETIME_MS) return true
  try {
    process.kill(Number.parseInt(holder, 10), 0)
    return false
  } catch (error) {
    return error.code === 'ESRCH'
  }
}

/** Only the holder of the marker may remove the lock, and only while it is still the stale one: never a fresh lock. */
function breakLock(stale) {
  const marker = `${lockFile}.broken`
  const age = Date.now() - (fs.statSync(marker, { throwIfNoEntry: false })?.mtimeMs ?? Date.now())
  if (age > 10_000) fs.rmSync(marker, { force: true })
  if (!link(`${lockFile}.${process.pid}`, marker)) return
  if (read(lockFile) === stale) fs.rmSync(lockFile)
  fs.rmSync(marker, { force: true })
}

function read(file) {
  try {
    return fs.readFileSync(file, 'utf8')
  } catch (error) {
    if (error.code === 'ENOENT' || error.code === 'ENOTDIR') return undefined
    throw error
  }
}

const sha256 = data => createHash('sha256').update(data).digest('hex')
const say = message => process.stderr.write(`assay: ${message}…\n`)

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  try {
    await setup()
  } catch (error) {
    if (!(error instanceof SetupFailed)) throw error
    process.stderr.write(`assay: ${error.message}\n`)
    process.exitCode = 1
  }
}
