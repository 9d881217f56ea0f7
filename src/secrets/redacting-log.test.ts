import { describe, expect, it } from 'vitest'
import { redactingLog } from './redacting-log.js'
import { createSecrets } from './secrets.js'

const SECRET = 'alpha-secret'

async function logged(fields: object, message = '', level: 'info' | 'warn' | 'error' = 'error') {
  const lines: [string, object, string][] = []
  const note = (name: string) => (given: object, text: string) => void lines.push([name, given, text])
  const secrets = createSecrets(async () => SECRET)
  await secrets.resolve({ env: 'A' })
  const log = redactingLog({ info: note('info'), warn: note('warn'), error: note('error') }, secrets.redact)
  log[level](fields, message)
  expect(lines).toHaveLength(1)
  return lines[0]!
}

describe('R-EVENT-6 a log that redacts', () => {
  it.each(['info', 'warn', 'error'] as const)('says on level %s what it was told, without secrets', async level => {
    const fields = { url: `https://x/${SECRET}`, tries: [{ [`h-${SECRET}`]: SECRET }], n: 1, ok: true, none: null }
    expect(await logged(fields, `sent ${SECRET}`, level)).toEqual([
      level,
      { url: 'https://x/[REDACTED:A]', tries: [{ 'h-[REDACTED:A]': '[REDACTED:A]' }], n: 1, ok: true, none: null },
      'sent [REDACTED:A]',
    ])
  })

  it('looks into errors, their causes and what was hung on them', async () => {
    const cause = new Error(`refused ${SECRET}`)
    const err = Object.assign(new TypeError(`broke at ${SECRET}`, { cause }), { code: 'E_X', header: SECRET })
    const [, fields] = await logged({ err })
    expect(fields).toMatchObject({
      err: {
        type: 'TypeError',
        message: 'broke at [REDACTED:A]',
        code: 'E_X',
        header: '[REDACTED:A]',
        cause: { message: 'refused [REDACTED:A]' },
      },
    })
    expect((fields as { err: { stack: string } }).err.stack).toContain('redacting-log.test')
    expect(JSON.stringify(fields)).not.toContain(SECRET)
  })

  it('shows no bytes, nothing that leads round in a circle, and times as they are', async () => {
    const circle: Record<string, unknown> = { secret: SECRET }
    circle.again = circle
    const at = new Date(0)
    const [, fields] = await logged({ circle, bytes: Buffer.from(SECRET), at })
    expect(fields).toMatchObject({ bytes: '[12 bytes]', at })
    const text = JSON.stringify(fields)
    expect(text).not.toContain(SECRET)
    expect(text).toContain('"again":"[REDACTED]"')
  })
})
