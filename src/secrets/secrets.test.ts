import fc from 'fast-check'
import { describe, expect, it, test } from 'vitest'
import type { SecretRef } from '../agents/settings.js'
import { createSecrets, SecretMissing, SecretTooShort } from './secrets.js'
import '../../test/support/seed.js'

const KEY = 'CNRY/key+of=the provider"ö\\'

const secretsOf = (values: Record<string, string>) =>
  createSecrets(async ref => values['env' in ref ? ref.env : ref.file])

/** A redactor that knows these values, by name. */
async function knowing(values: Record<string, string>) {
  const secrets = secretsOf(values)
  for (const env of Object.keys(values)) await secrets.resolve({ env })
  return secrets.redact
}

describe('a secret', () => {
  it('is read each time it is needed, without the line break that ends its file', async () => {
    const values: Record<string, string> = { '/run/key': 'first-secret\n', WORD: 'a secret \n\n' }
    const secrets = secretsOf(values)
    expect(await secrets.resolve({ file: '/run/key' })).toBe('first-secret')
    expect(await secrets.resolve({ env: 'WORD' })).toBe('a secret \n')
    values['/run/key'] = 'second-secret\r\n'
    expect(await secrets.resolve({ file: '/run/key' })).toBe('second-secret')
    // The old one may still be on its way somewhere.
    expect(secrets.redact.text('first-secret, second-secret')).toBe('[REDACTED:key], [REDACTED:key]')
  })

  it('that is not there is named, and nothing else is said', async () => {
    const secrets = createSecrets(async ref => {
      if ('file' in ref) throw new Error('EACCES')
      return ref.env === 'EMPTY' ? '\n' : undefined
    })
    const missing: [SecretRef, string][] = [
      [{ env: 'NOWHERE' }, 'there is no secret in the variable NOWHERE'],
      [{ env: 'EMPTY' }, 'there is no secret in the variable EMPTY'],
      [{ file: '/home/me/keys/openai' }, 'there is no secret in the file openai'],
    ]
    for (const [ref, message] of missing) {
      const error = await secrets.resolve(ref).catch((reason: unknown) => reason)
      expect(error).toBeInstanceOf(SecretMissing)
      expect(error).toMatchObject({ message })
    }
  })

  it('that is too short to be recognised is refused, by name', async () => {
    const secrets = secretsOf({ PIN: '12345', LONGER: '123456' })
    const error = await secrets.resolve({ env: 'PIN' }).catch((reason: unknown) => reason)
    expect(error).toBeInstanceOf(SecretTooShort)
    expect(String(error)).toContain('PIN')
    expect(String(error)).not.toContain('12345')
    expect(secrets.redact.text('12345')).toBe('12345')
    expect(await secrets.resolve({ env: 'LONGER' })).toBe('123456')
  })
})

const base64 = (text: string) => Buffer.from(text).toString('base64')

describe('R-EVENT-6 SR-1 redaction', () => {
  test.each([
    ['plain', KEY],
    ['within a word', `x${KEY}y`],
    ['within JSON', JSON.stringify({ key: KEY })],
    ['within JSON of ASCII only', JSON.stringify(KEY).replace('ö', '\\u00f6')],
    ['in a query', `https://example.com/?k=${encodeURIComponent(KEY)}&x=1`],
    ['in a query, in small letters', encodeURIComponent(KEY).replace(/%../g, code => code.toLowerCase())],
    ['in a form', new URLSearchParams({ k: KEY }).toString()],
    ['in an address', encodeURI(KEY)],
    ['base64', `it is ${base64(KEY)}`],
    ['base64url', `it is ${Buffer.from(KEY).toString('base64url')}`],
    ['base64 after one byte', `it is ${base64(`:${KEY}`)}`],
    ['base64 after two bytes', `it is ${base64(`a:${KEY}`)}`],
    ['base64 within more', `it is ${base64(`user:${KEY}@host`)}`],
    ['hexadecimal', `it is ${Buffer.from(KEY).toString('hex')}`],
    ['HEXADECIMAL', `it is ${Buffer.from(KEY).toString('hex').toUpperCase()}`],
  ])('takes out a secret that is spelled %s', async (_how, text) => {
    const redact = await knowing({ PROVIDER_KEY: KEY })
    const said = redact.text(text)
    expect(said).toContain('[REDACTED:PROVIDER_KEY]')
    for (const spelling of [KEY, base64(KEY).slice(3, -4), encodeURIComponent(KEY)]) {
      expect(said).not.toContain(spelling)
    }
    expect(redact.text(said)).toBe(said)
  })

  test.each([
    ['two secrets side by side', 'alpha-secretbravo-secret', '[REDACTED:A][REDACTED:B]'],
    ['a secret within another', 'see alpha-secret-long!', 'see [REDACTED:C]!'],
    ['secrets that overlap', 'alpha-secret-longbravo', '[REDACTED:C]'],
    ['the same one again and again', 'alpha-secret alpha-secret', '[REDACTED:A] [REDACTED:A]'],
    ['a beginning of one', 'alpha-secre', 'alpha-secre'],
    ['nothing', 'alpha, bravo', 'alpha, bravo'],
    ['no text', '', ''],
    ['a credential that nobody registered', 'sent Bearer abcdefghijklmnop', 'sent [REDACTED]'],
    ['a key that nobody registered', 'my key is sk-proj-0123456789abcdef.', 'my key is [REDACTED].'],
    ['a plain sentence', 'Basic understanding of authentication is a must', undefined],
    ['the name of a secret', 'OPENAI_API_KEY is not set', undefined],
  ])('of %s', async (_what, text, said = text) => {
    const [A, B, C, D] = ['alpha-secret', 'bravo-secret', 'alpha-secret-long', 'secret-longbravo']
    const redact = await knowing({ A, B, C, D })
    expect(redact.text(text)).toBe(said)
  })

  it('reaches every text of a JSON value, and the names of its fields', async () => {
    const redact = await knowing({ A: 'alpha-secret' })
    const given = {
      a: ['alpha-secret', 1, null, true, { 'x alpha-secret': 'y' }],
      n: 12345678,
      ['__proto__']: 'alpha-secret',
    }
    const said = redact.json(given)
    expect(JSON.stringify(said)).toBe(JSON.stringify(given).replaceAll('alpha-secret', '[REDACTED:A]'))
    expect(given.a[0]).toBe('alpha-secret')
    expect(redact.json('alpha-secret')).toBe('[REDACTED:A]')
    expect(redact.json(null)).toBeNull()
  })

  it('does not show what lies too deep to be looked at', async () => {
    const redact = await knowing({ A: 'alpha-secret' })
    const deep = JSON.parse(`${'['.repeat(100_000)}"alpha-secret"${']'.repeat(100_000)}`)
    expect(JSON.stringify(redact.json(deep))).toMatch(/^\[{201}"\[REDACTED\]"\]{201}$/)
  })

  it('holds even for secrets that are part of a mask, or make up one with it', async () => {
    const values = { REDACTED: 'REDACTED', A: 'alpha-secret', B: 'beta[REDA', MASK: 'CTED:A' }
    const redact = await knowing(values)
    for (const text of ['REDACTED', 'betaalpha-secret', 'x alpha-secret', 'Bearer abcdefgh12345678']) {
      const said = redact.text(text)
      expect(said).not.toBe(text)
      for (const value of Object.values(values)) expect(said).not.toContain(value)
    }
  })

  it('takes time by the length of the text alone, whoever wrote it', async () => {
    const redact = await knowing({ SAME: `${'a'.repeat(2000)}b`, MIB: 'xyz'.repeat(500) })
    const texts = ['a', 'xyz', 'ab', '-eyJ', '-eyJaaaaaaaa', 'bearer ', '-----BEGIN ', `://${'a:'.repeat(200)}`]
    // Were it not so, the test would run into its time limit.
    for (const text of texts) redact.text(text.repeat((1024 * 1024) / text.length))
  })

  it('leaves no registered value in any text, in none of its spellings', async () => {
    const secret = fc.oneof(
      fc.string({ minLength: 6, maxLength: 40, unit: 'binary' }),
      fc.string({ minLength: 6, maxLength: 12, unit: fc.constantFrom('a', 'b', '/', '+', '"', 'ö', ' ', '%', '[') }),
    )
    const whole = secret.filter(value => !value.endsWith('\n'))
    const spellings: readonly ((value: string) => string)[] = [
      value => value,
      base64,
      value => Buffer.from(value).toString('base64url'),
      value => encodeURIComponent(Buffer.from(value).toString()),
      value => JSON.stringify(value).slice(1, -1),
    ]
    const spell = fc.constantFrom(...spellings)
    const word = fc.record({ which: fc.nat(), spell, before: fc.string({ maxLength: 6 }) })
    let found = 0
    await fc.assert(
      fc.asyncProperty(fc.array(whole, { minLength: 1, maxLength: 4 }), fc.array(word), async (values, words) => {
        const redact = await knowing(Object.fromEntries(values.map((value, i) => [`S${i}`, value])))
        const text = words.map(({ which, spell, before }) => before + spell(values[which % values.length]!)).join('')
        const said = [redact.text(text), ...Object.entries(redact.json({ [text]: [text] })).flat(2)]
        for (const spelling of values.flatMap(value => spellings.map(spell => spell(value)))) {
          if (text.includes(spelling)) found += 1
          for (const one of said) expect(one).not.toContain(spelling)
        }
      }),
    )
    expect(found).toBeGreaterThan(100)
  })
})
