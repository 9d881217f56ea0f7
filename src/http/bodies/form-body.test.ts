import { Readable } from 'node:stream'
import { describe, expect, test } from 'vitest'
import { got } from '../../engine/journal/desk.js'
import { type FormSteps, readForm } from './form-body.js'

const LIMITS = { maxJsonDepth: 10, maxJsonMembers: 100, maxRequestBodyBytes: 1_000 }
const TYPE = 'multipart/form-data; boundary=XX'
const part = (head: string, body = 'x') => `--XX\r\n${head}\r\n\r\n${body}\r\n`
const named = (name: string, more = '') => `Content-Disposition: form-data; name="${name}"${more}`
const form = (...parts: readonly string[]) => Buffer.from(`${parts.join('')}--XX--\r\n`)
const RUN = part(named('run'), '{"workflowId":"x"}')
const file = (i: number) => part(named(`f${i}`, `; filename="f${i}"`))
const files = (n: number) => Array.from({ length: n }, (_, i) => file(i))

const STEPS: FormSteps = {
  wrongWith: () => undefined,
  ended: () => undefined,
  receive: async (_name, stream) => {
    const whole = Buffer.concat(await stream.toArray())
    return got({ sha256: '', sent: whole.length, whole })
  },
}

/** Cut into chunks of that many bytes. */
const read = (bytes: Buffer, { type = TYPE, chunk = bytes.length, steps = {} as Partial<FormSteps> } = {}) => {
  const chunks = Array.from({ length: Math.ceil(bytes.length / chunk) }, (_, i) =>
    bytes.subarray(i * chunk, (i + 1) * chunk),
  )
  return readForm(Readable.from(chunks), type, LIMITS, { ...STEPS, ...steps })
}

const refused = (message: string, code = 'validation_error') =>
  expect.objectContaining({ refusal: expect.objectContaining({ code, message: expect.stringContaining(message) }) })

describe('a form', () => {
  test.each([1, 7, 4096])('has the request, and files by the names of inputs, in chunks of %i', async chunk => {
    expect(await read(form(...files(32), RUN), { chunk })).toEqual({
      body: { workflowId: 'x' },
      uploads: Array.from({ length: 32 }, (_, i) => ({
        name: `f${i}`,
        fileName: `f${i}`,
        contentType: expect.any(String),
        file: { sha256: '', sent: 1, whole: Buffer.from('x') },
      })),
    })
    expect(await read(form(RUN), { type: 'multipart/form-data; boundary="XX"', chunk })).toMatchObject({ uploads: [] })
  })

  test('is read no further than it is right', async () => {
    expect(await read(form(RUN, ...files(33)))).toEqual(refused('more than 33 parts; send at most 32 files'))
    expect(await read(form(RUN, file(1), file(1)))).toEqual(refused('two files for "f1"'))
    expect(await read(form(RUN, part(named('x'))))).toEqual(refused('"x" of the form is no file'))
    expect(await read(form(file(1)))).toEqual(refused('no part "run"'))
    expect(await read(form(part(named('run'), '{')))).toEqual(refused('Part "run" of the form is not valid JSON'))
    const long = part(named('run'), `"${'x'.repeat(1_000)}"`)
    expect(await read(form(long))).toEqual(refused('over 1000 bytes', 'payload_too_large'))
    const blob = part(named('run', '; filename="blob"'), `"${'x'.repeat(1_000)}"`)
    expect(await read(form(blob))).toEqual(refused('over 1000 bytes', 'payload_too_large'))
    expect(await read(form(part(named('run', '; filename="blob"'), '{"a":1}')))).toMatchObject({ body: { a: 1 } })
    for (const broken of [form(part('x: y')).subarray(0, 9), form(RUN).subarray(0, -6), Buffer.alloc(0)])
      expect(await read(broken)).toEqual(refused('not a valid multipart/form-data form'))
  })

  test('names those of its files that had come when it was refused, and none is read on', async () => {
    let given = 0
    const receive: FormSteps['receive'] = async (name, stream) => {
      if (name !== 'f1') return STEPS.receive(name, stream)
      for await (const _ of stream) given += 1
      return got({ sha256: '', sent: 0, whole: Buffer.alloc(0) })
    }
    const long = Buffer.concat([form(RUN, file(0)).subarray(0, -8), Buffer.from(file(1)), Buffer.alloc(200_000, 'y')])
    const wrongWith = (sent: number) =>
      sent > 100_000 ? { code: 'payload_too_large' as const, message: 'too large' } : undefined
    const answer = await read(long, { chunk: 1_000, steps: { receive, wrongWith } })
    expect(answer).toEqual(refused('too large', 'payload_too_large'))
    expect(answer.uploads.map(({ name }) => name)).toEqual(['f0'])
    expect(given).toBeLessThan(200)
  })

  test('that breaks off while a file is read throws what broke it', async () => {
    async function* breaking() {
      yield Buffer.concat([form(RUN).subarray(0, -8), Buffer.from(file(1)).subarray(0, -4)])
      throw new Error('gone away')
    }
    await expect(readForm(breaking(), TYPE, LIMITS, STEPS)).rejects.toThrow('gone away')
  })

  test.each([
    'multipart/form-data',
    'multipart/form-data; boundary=',
    'multipart/form-data; boundary=YY; boundary=XX',
    'multipart/form-data; boundary=YY; Boundary = XX',
    'multipart/form-data; boundary="Y\\"Y"',
  ])('has one boundary: not %s', async type => {
    expect(await read(form(RUN), { type })).toEqual(refused('not a valid'))
  })
})
