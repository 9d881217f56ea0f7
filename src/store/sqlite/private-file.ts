import { chmodSync, closeSync, openSync, statSync } from 'node:fs'

/**
 * Makes the file for its owner only, because SQLite would use the umask; the journal files take over the mode. An
 * existing file is not opened: closing it again would drop the locks of another connection in this process.
 */
export function ensurePrivateFile(file: string): void {
  if (statSync(file, { throwIfNoEntry: false })) chmodSync(file, 0o600)
  else closeSync(openSync(file, 'a', 0o600))
}
