/**
 * How a secret may be spelled where it turns up again: as it is, within JSON, in a URL, in hexadecimal, and in base64,
 * alone or as a part of something longer, as in an `Authorization: Basic` header.
 */
export function spellingsOf(secret: string): ReadonlySet<string> {
  const bytes = Buffer.from(secret)
  const hex = bytes.toString('hex')
  // Lone surrogates have no place in a URL.
  const text = bytes.toString()
  const json = JSON.stringify(secret).slice(1, -1)
  const urls = [encodeURIComponent(text), encodeURI(text), new URLSearchParams({ '': text }).toString().slice(1)]
  return new Set([
    secret,
    json,
    json.replace(/[\u0080-\uffff]/g, unit => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`),
    ...urls,
    ...urls.map(url => url.replace(/%[0-9A-F]{2}/g, code => code.toLowerCase())),
    hex,
    hex.toUpperCase(),
    ...base64Of(bytes).flatMap(form => [form, form.replaceAll('+', '-').replaceAll('/', '_')]),
  ])
}

/** On its own, and without the characters that its neighbours have a part in, wherever it begins among three bytes. */
function base64Of(bytes: Buffer): string[] {
  const whole = bytes.toString('base64').replace(/=+$/, '')
  const inside = [0, 1, 2].map(before => {
    const text = Buffer.concat([Buffer.alloc(before), bytes]).toString('base64')
    return text.slice(Math.ceil((before * 8) / 6), Math.floor(((before + bytes.length) * 8) / 6))
  })
  return [whole, ...inside]
}
