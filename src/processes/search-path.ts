import path from 'node:path'

/** Where programs are looked for: beside this one, and in the system's own folders. */
export const SEARCH_PATH = [path.dirname(process.execPath), '/usr/local/bin', '/usr/bin', '/bin'].join(path.delimiter)
