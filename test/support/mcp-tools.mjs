import { spawn } from 'node:child_process'
import { appendFileSync } from 'node:fs'
import { Server } from '@modelcontextprotocol/server'

/** An MCP server with tools that behave and tools that do not. `journal` is told of every call before anything else. */
export function createServer({ journal, raw }) {
  const server = new Server({ name: 'test', version: '1.0.0' }, { capabilities: { tools: { listChanged: true } } })
  const tools = TOOLS.slice()
  server.setRequestHandler('tools/list', ({ params }) => {
    const start = Number(params?.cursor ?? 0)
    const next = start + PAGE
    return { tools: tools.slice(start, next), ...(next < tools.length && { nextCursor: String(next) }) }
  })
  server.setRequestHandler(
    'tools/call',
    async ({ params: { name, arguments: args = {}, _meta } }, { mcpReq, http }) => {
      const headers = http?.req && Object.fromEntries(http.req.headers)
      journal({ name, args, meta: _meta, headers })
      if (name === 'grow') {
        tools.push({ name: 'grown', inputSchema: ANY })
        await server.sendToolListChanged()
        return text('grown')
      }
      if (name === 'shrink') {
        tools[tools.findIndex(tool => tool.name === 'echo')] = { name: 'echo', inputSchema: WITH_NUMBER }
        return text('shrunk')
      }
      const behave = Object.hasOwn(BEHAVIOURS, name) ? BEHAVIOURS[name] : () => text(`${name} was called`)
      return behave(args, { id: mcpReq.id, raw })
    },
  )
  return server
}

/** A journal in a file, which outlives the process. */
export const fileJournal = file => entry => appendFileSync(file, `${JSON.stringify(entry)}\n`)

const PAGE = 8
const ANY = { type: 'object' }
const WITH_TEXT = { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] }
const WITH_NUMBER = { type: 'object', properties: { number: { type: 'number' } }, required: ['number'] }

/** They take anything, and do what `BEHAVIOURS` or, over HTTP, `mcp-server.ts` says. */
const NAMED = `picture fail throw huge deep endless flood hang spin die env control grow shrink helper noise
  cut quiet torrent large error redirect garbage bomb`.split(/\s+/)

const TOOLS = [
  { name: 'echo', title: 'Echo', description: 'Says \u0007it again', inputSchema: WITH_TEXT },
  { name: 'read', inputSchema: ANY, annotations: { readOnlyHint: true } },
  { name: 'put', inputSchema: ANY, annotations: { idempotentHint: true, destructiveHint: true } },
  {
    name: 'add',
    inputSchema: {
      $schema: 'http://json-schema.org/draft-07/schema#',
      type: 'object',
      properties: { a: { type: 'number' }, b: { type: 'number' } },
      required: ['a', 'b'],
    },
    outputSchema: { type: 'object', properties: { sum: { type: 'number' } }, required: ['sum'] },
  },
  ...['__proto__', 'constructor', 'toString', 'a/b.c'].map(name => ({ name, inputSchema: ANY })),
  ...['send_emaіl', 'has space', 'echo', 'bell\u0007'].map(name => ({ name, inputSchema: ANY })),
  { name: 'unreadable', inputSchema: { type: 'object', properties: { a: { type: 'strin' } } } },
  ...NAMED.map(name => ({ name, inputSchema: ANY })),
]

const text = (...texts) => ({ content: texts.map(words => ({ type: 'text', text: words })) })
const never = () => new Promise(() => undefined)

const BEHAVIOURS = {
  echo: ({ text: words }) => text(words),
  add: ({ a, b }) => ({
    ...text(JSON.stringify({ sum: a + b })),
    structuredContent: { sum: a === 0 ? 'none' : a + b },
  }),
  picture: () => ({
    content: [
      { type: 'text', text: 'look' },
      { type: 'image', mimeType: 'image/png', data: Buffer.alloc(1234).toString('base64') },
      { type: 'resource', resource: { uri: 'file:///a.bin', blob: Buffer.alloc(7).toString('base64') } },
      { type: 'resource', resource: { uri: 'file:///a.txt', text: 'inside' } },
      { type: 'resource_link', uri: 'file:///b.txt', name: 'b' },
    ],
  }),
  fail: () => ({ ...text('the disk is full'), isError: true }),
  throw: () => {
    throw new Error('out of cheese')
  },
  huge: ({ bytes }) => text('x'.repeat(bytes)),
  env: () => text(JSON.stringify(process.env)),
  control: () => text('a\u0000b\u001b[31mc\r\nd\te\u0085f\ud800g'),
  hang: never,
  spin: () => {
    for (;;);
  },
  die: () => process.exit(3),
  /** Somebody who would stay when the server goes. */
  helper: () => text(String(spawn('sleep', ['600'], { stdio: 'ignore' }).pid)),
  noise: () => {
    process.stderr.write('the password is swordfish\n')
    process.stdout.write('I should not print this\n')
    return text('quiet now')
  },
  /** Rendered by hand: the renderer would run out of stack. */
  deep: ({ levels }, { id, raw }) => {
    const nested = `${'{"a":'.repeat(levels)}1${'}'.repeat(levels)}`
    raw(`{"jsonrpc":"2.0","id":${id},"result":{"content":[],"structuredContent":${nested}}}\n`)
    return never()
  },
  endless: (_args, { raw }) => {
    const more = () => raw('x'.repeat(65_536)).then(more)
    more()
    return never()
  },
  flood: (message, { raw }) => {
    const line = `${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`
    const more = () => raw(line.repeat(500)).then(more)
    more()
    return never()
  },
}
