// A provider that speaks the OpenAI chat protocol over real HTTP and does what a plan of plain data says, so that it can
// be told the same in this process and in one of its own. As a program: `node openai-server.mjs <port> <plan.json>
// [journal.jsonl]`; the plan can be replaced later by POST /plan, and GET /requests tells what was received.

import { appendFileSync, readFileSync } from 'node:fs'
import http from 'node:http'
import { pathToFileURL } from 'node:url'

export async function startServer({ port, plan = [], journal }) {
  const received = []
  const sockets = new Set()
  let steps = plan.map(step => ({ ...step, used: 0 }))

  const server = http.createServer(async (request, response) => {
    const text = await readAll(request)
    if (request.url === '/plan') {
      steps = JSON.parse(text).map(step => ({ ...step, used: 0 }))
      response.end('{}')
      return
    }
    if (request.url === '/requests') {
      response.end(JSON.stringify(received))
      return
    }
    const body = text === '' ? undefined : JSON.parse(text)
    const entry = {
      n: received.length,
      method: request.method,
      path: request.url,
      headers: request.headers,
      body,
      left: false,
    }
    received.push(entry)
    if (journal !== undefined) appendFileSync(journal, `${JSON.stringify(entry)}\n`)
    response.on('close', () => {
      entry.left = !response.writableFinished
    })
    const step = steps.find(one => applies(one, text))
    if (step !== undefined) step.used += 1
    answer(response, echoed(step?.reply ?? { kind: 'text', text: 'ok' }, text), body ?? {}, entry.n)
  })
  server.on('connection', socket => {
    sockets.add(socket)
    socket.on('error', () => socket.destroy())
    socket.on('close', () => sockets.delete(socket))
  })
  await new Promise(resolve => server.listen(port, '127.0.0.1', resolve))
  return {
    port,
    url: `http://127.0.0.1:${port}/v1`,
    requests: () => received,
    connections: () => sockets.size,
    plan: next => {
      steps = next.map(step => ({ ...step, used: 0 }))
    },
    close: () =>
      new Promise(resolve => {
        server.close(() => resolve())
        for (const socket of sockets) socket.destroy()
      }),
  }
}

async function readAll(request) {
  let text = ''
  request.setEncoding('utf8')
  for await (const chunk of request) text += chunk
  return text
}

/** A step with a condition applies as often as it is met, one without once, unless it says otherwise. */
function applies({ contains, times, used }, text) {
  const texts = contains === undefined ? [] : [contains].flat()
  if (used >= (times ?? (texts.length === 0 ? 1 : Number.POSITIVE_INFINITY))) return false
  return texts.every(one => text.includes(JSON.stringify(one).slice(1, -1)))
}

/** A model that repeats what it was told to: `{echo}` is what the pattern's first group finds in the request. */
function echoed(reply, text) {
  if (reply.echo === undefined) return reply
  const [, found = ''] = new RegExp(reply.echo).exec(text) ?? []
  return { ...reply, text: reply.text.replaceAll('{echo}', found) }
}

const USAGE = { prompt_tokens: 11, completion_tokens: 7, total_tokens: 18 }

function answer(response, reply, body, n) {
  switch (reply.kind) {
    case 'status':
      response.writeHead(reply.status, { 'content-type': 'application/json', ...reply.headers })
      response.end(JSON.stringify(reply.body ?? { error: { message: 'CNRY provider words', type: 'error' } }))
      return
    case 'hang':
      return
    case 'drop':
      response.socket.destroy()
      return
    case 'empty':
      response.writeHead(200, { 'content-type': 'text/event-stream' }).end()
      return
  }
  if (body.stream !== true) return whole(response, reply, body, n)
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  const send = data => response.write(`data: ${typeof data === 'string' ? data : JSON.stringify(data)}\n\n`)
  const chunk = (delta, finish = null, more = {}) =>
    send({ ...head(body, n, 'chat.completion.chunk'), choices: [{ index: 0, delta, finish_reason: finish, ...more }] })
  const end = (finish, more) => {
    chunk({}, finish, more)
    send({ ...head(body, n, 'chat.completion.chunk'), choices: [], usage: reply.usage ?? USAGE })
    send('[DONE]')
    response.end()
  }
  chunk({ role: 'assistant', content: '' })
  if (reply.reasoning !== undefined) {
    for (const part of [reply.reasoning].flat()) chunk({ reasoning_content: part })
  }
  stream(response, reply, { send, chunk, end })
}

function stream(response, reply, { send, chunk, end }) {
  switch (reply.kind) {
    case 'text':
      for (const part of parts(reply.text)) chunk({ content: part })
      return end(reply.finish ?? 'stop')
    case 'tools':
      if (reply.text !== undefined) chunk({ content: reply.text })
      for (const [index, { name, args, raw, id = `call_${index}` }] of reply.calls.entries()) {
        chunk({ tool_calls: [{ index, id, type: 'function', function: { name, arguments: '' } }] })
        for (const part of parts(raw ?? JSON.stringify(args))) {
          chunk({ tool_calls: [{ index, function: { arguments: part } }] })
        }
      }
      return end(reply.finish ?? 'tool_calls')
    case 'refusal':
      chunk({ refusal: reply.text })
      return end('stop')
    case 'content-filter':
      return end('content_filter', { content_filter_results: reply.filters ?? {} })
    case 'error-frame':
      send({ error: reply.error })
      return response.end()
    case 'garbage':
      chunk({ content: 'half' })
      response.write('data: {"choices": [{"del\n\n')
      response.write(Buffer.from([0xff, 0xfe, 0x00, 0x0a, 0x0a]))
      return end('stop')
    case 'break':
      chunk({ content: reply.text ?? 'half an ans' })
      // Only once the other side can have it, else there was no answer at all.
      return setImmediate(() => response.socket?.destroy())
    case 'end-early':
      chunk({ content: reply.text ?? 'half an ans' })
      return response.end()
    case 'stall':
      chunk({ content: 'half an ans' })
      return
    case 'drip': {
      const drip = setInterval(() => {
        if (response.destroyed) clearInterval(drip)
        else chunk({ content: '.' })
      }, 2)
      return
    }
    case 'flood':
      return flood(response, reply.bytes, chunk, () => end('stop'))
    case 'long-line':
      return chunk({ content: 'x'.repeat(reply.bytes) })
  }
}

/** Pours as fast as the other side reads. */
function flood(response, bytes, chunk, done) {
  const part = 'x'.repeat(8 * 1024)
  let left = bytes
  const pour = () => {
    while (left > 0) {
      if (response.destroyed) return
      left -= part.length
      chunk({ content: part })
      if (response.writableNeedDrain) {
        response.once('drain', pour)
        return
      }
    }
    done()
  }
  pour()
}

function whole(response, reply, body, n) {
  const message = {
    role: 'assistant',
    content: reply.text ?? null,
    ...(reply.kind === 'refusal' ? { content: null, refusal: reply.text } : {}),
    ...(reply.kind === 'tools'
      ? {
          tool_calls: reply.calls.map(({ name, args, raw, id }, i) => ({
            id: id ?? `call_${i}`,
            type: 'function',
            function: { name, arguments: raw ?? JSON.stringify(args) },
          })),
        }
      : {}),
  }
  const finish = reply.finish ?? (reply.kind === 'tools' ? 'tool_calls' : 'stop')
  response.writeHead(200, { 'content-type': 'application/json' })
  response.end(
    JSON.stringify({
      ...head(body, n, 'chat.completion'),
      choices: [{ index: 0, message, finish_reason: finish }],
      usage: reply.usage ?? USAGE,
    }),
  )
}

const head = (body, n, object) => ({ id: `chatcmpl-${n}`, object, created: 1767225600, model: body.model ?? 'model' })

/** A text in a few pieces, as models send it. */
function parts(text) {
  const size = Math.max(1, Math.ceil(text.length / 4))
  return Array.from({ length: Math.ceil(text.length / size) }, (_, i) => text.slice(i * size, (i + 1) * size))
}

if (process.argv[1] !== undefined && import.meta.url === pathToFileURL(process.argv[1]).href) {
  const [, , port, plan, journal] = process.argv
  const server = await startServer({ port: Number(port), plan: JSON.parse(readFileSync(plan, 'utf8')), journal })
  console.log(JSON.stringify({ url: server.url }))
}
