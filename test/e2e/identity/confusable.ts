import fc from 'fast-check'

/** What a store, a file system, a JSON library or an eye takes for the same text, one step at a time. */
const CONFUSIONS: readonly ((text: string) => string)[] = [
  text => `${text}\0`,
  text => `${text}\0x`,
  text => `\0${text}`,
  text => `${text.slice(0, 2)}\0${text.slice(2)}`,
  text => text.toUpperCase(),
  text => text.slice(0, 1).toUpperCase() + text.slice(1),
  text => `${text}.`,
  text => `${text} `,
  text => ` ${text}`,
  text => `${text}\t`,
  text => `${text}\n`,
  text => `${text}\r`,
  text => `${text}\u001f`,
  text => `${text}\u007f`,
  text => `${text}\u0085`,
  text => `${text}\u00a0`,
  text => `${text}\u00ad`,
  text => `${text}\u200b`,
  text => `${text}\u2028`,
  text => `\ufeff${text}`,
  text => `\u202e${text}`,
  text => text.replace('a', '\u0430'),
  text => text.replace('e', '\u0435'),
  text => text.replace('t', '\uff54'),
  text => text.replace('s', '\u017f'),
  text => text.replace('i', '\u0131'),
  text => text.replace('a', 'a\u0301'),
  text => text.replace('a', '\u00e1'),
  text => text.replace('-', '\u2010'),
  text => text.replace('-', '_'),
  text => text.replace('.', '\u2024'),
  text => text.replace('.', '-'),
  text => text.normalize('NFD'),
  text => text.normalize('NFKC'),
  text => `${text}/`,
  text => `./${text}`,
  text => `${text}%00`,
  text => `${text}\\u0000`,
  text => encodeURIComponent(text),
  text => `${text}\ud800`,
  text => `${text}-copy`,
  text => text.slice(0, -1),
  text => `${text}@1.0.0`,
  text => `${text}:`,
]

/** One of these texts, as it is or as something takes it for another. */
export const confusable = (texts: readonly string[]): fc.Arbitrary<string> =>
  fc
    .tuple(fc.constantFrom(...texts), fc.array(fc.constantFrom(...CONFUSIONS), { maxLength: 2 }))
    .map(([text, steps]) => steps.reduce((soFar, step) => step(soFar), text))

/** As the most careless of stores would look it up. */
export const folded = (text: string): string =>
  (text.normalize('NFKC').toLowerCase().split('\0')[0] ?? '')
    .replace(/\p{M}|\p{Cf}|\p{Cc}/gu, '')
    .replace(/[а\u0251]/g, 'a')
    .replace(/[\s./:]+$/, '')
    .replace(/^[\s./]+/, '')
    .replace(/-copy$/, '')
