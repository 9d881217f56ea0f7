import { describe, expect, test } from 'vitest'
import { parseForm } from './form-body.js'

const LIMITS = { maxJsonDepth: 10, maxJsonMembers: 100 }
const TYPE = 'multipart/form-data; boundary=XX'
const part = (head: string, body = 'x') => `--XX\r\n${head}\r\n\r\n${body}\r\n`
const named = (name: string, more = '') => `Content-Disposition: form-data; name="${name}"${more}`
const form = (...parts: readonly string[]) => Buffer.from(`${parts.join('')}--XX--\r\n`)
const RUN = part(named('run'), '{"workflowId":"x"}')
const file = (i: number) => part(named(`f${i}`, `; filename="f${i}"`))
const files = (n: number) => Array.from({ length: n }, (_, i) => file(i))

describe('a form', () => {
  test('has the request, and files by the names of inputs', async () => {
    const { body, uploads } = await parseForm(form(RUN, ...files(32)), TYPE, LIMITS)
    expect([body, uploads.length, uploads[0]]).toEqual([
      { workflowId: 'x' },
      32,
      { name: 'f0', fileName: 'f0', contentType: 'text/plain', body: Buffer.from('x') },
    ])
    expect((await parseForm(form(RUN), 'multipart/form-data; boundary="XX"', LIMITS)).uploads).toEqual([])
  })

  test('has its parts counted before it is parsed', async () => {
    await expect(parseForm(form(RUN, ...files(33)), TYPE, LIMITS)).rejects.toMatchObject({
      refusal: { message: expect.stringContaining('has 34 parts; send at most 32 files') },
    })
    // Broken ones too, so that it is known without.
    const broken = form(...Array.from({ length: 40_000 }, () => part('x: y')))
    await expect(parseForm(broken, TYPE, LIMITS)).rejects.toMatchObject({
      refusal: { message: expect.stringContaining('has 40000 parts') },
    })
    await expect(parseForm(form(part('x: y')), TYPE, LIMITS)).rejects.toMatchObject({
      refusal: { message: expect.stringContaining('not a valid multipart/form-data form') },
    })
  })

  test.each([
    'multipart/form-data',
    'multipart/form-data; boundary=',
    'multipart/form-data; boundary=YY; boundary=XX',
    'multipart/form-data; boundary=YY; Boundary = XX',
    'multipart/form-data; boundary="Y\\"Y"',
  ])('has one boundary: not %s', async type => {
    await expect(parseForm(form(RUN), type, LIMITS)).rejects.toMatchObject({
      refusal: { code: 'validation_error', message: expect.stringContaining('not a valid') },
    })
  })
})
