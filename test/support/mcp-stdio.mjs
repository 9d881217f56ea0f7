import { StdioServerTransport } from '@modelcontextprotocol/server/stdio'
import { createServer, fileJournal } from './mcp-tools.mjs'

/** `node mcp-stdio.mjs <journal file> [stubborn]`; a stubborn server does not go when it is asked to. */
const [, , journal, manner] = process.argv
const raw = chunk => new Promise(resolve => process.stdout.write(chunk, resolve))
if (manner === 'stubborn') process.on('SIGTERM', () => undefined)
if (manner === 'mute') process.stdin.resume()
else await createServer({ journal: fileJournal(journal), raw }).connect(new StdioServerTransport())
if (manner === 'stubborn') setInterval(() => undefined, 1_000)
