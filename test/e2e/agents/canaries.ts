/** Markers that are planted in one place and looked for in every other. */

/** `must`: else nothing was looked at. `may`: whoever reads this has a right to it. `never`: a leak. */
export type Verdict = 'must' | 'may' | 'never'

/** What a leak looks like when it is not plain: how programs write one text inside another. */
export function codingsOf(marker: string): readonly (readonly [string, Buffer])[] {
  const bytes = Buffer.from(marker)
  // Of what is encoded together with its neighbours only the middle is the same, whatever they are.
  const aligned = [0, 1, 2].map((shift): readonly [string, string] => {
    const text = Buffer.concat([Buffer.alloc(shift), bytes]).toString('base64')
    return [`base64+${shift}`, text.slice(shift === 0 ? 0 : 4, text.length - 4)]
  })
  const texts: readonly (readonly [string, string])[] = [
    ['plain', marker],
    ['beginning', marker.slice(0, 16)],
    ['URL', encodeURIComponent(marker)],
    ['hex', bytes.toString('hex')],
    ['HEX', bytes.toString('hex').toUpperCase()],
    ['reversed', [...marker].reverse().join('')],
    ...aligned,
    ...aligned.map(([name, text]) => [`${name} url`, text.replaceAll('+', '-').replaceAll('/', '_')] as const),
  ]
  return [
    ...texts.map(([name, text]) => [name, Buffer.from(text)] as const),
    ['UTF-16', Buffer.from(marker, 'utf16le')],
  ]
}

/** The codings in which a marker is found. */
export const foundIn = (outlet: Buffer, marker: string): readonly string[] =>
  codingsOf(marker)
    .filter(([, bytes]) => outlet.includes(bytes))
    .map(([name]) => name)

export type Matrix<Kind extends string, Outlet extends string> = {
  readonly [K in Kind]: { readonly [O in Outlet]?: Verdict }
}

/** What is wrong, one line for each cell; what the matrix does not mention must not be there. */
export function judge<Kind extends string, Outlet extends string>(
  markers: { readonly [K in Kind]: string },
  outlets: { readonly [O in Outlet]?: Buffer },
  matrix: Matrix<Kind, Outlet>,
): readonly string[] {
  return (Object.keys(markers) as Kind[]).flatMap(kind =>
    (Object.entries(outlets) as [Outlet, Buffer][]).flatMap(([outlet, said]) => {
      const verdict = matrix[kind][outlet] ?? 'never'
      const codings = foundIn(said, markers[kind])
      if (verdict === 'must') return codings.includes('plain') ? [] : [`${kind} is not in ${outlet}`]
      return verdict === 'may' || codings.length === 0 ? [] : [`${kind} is in ${outlet} (${codings.join(', ')})`]
    }),
  )
}
