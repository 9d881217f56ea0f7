/** Lines around a difference that are shown with it. */
const AROUND = 3
/** Beyond that many pairs of lines what is between the common ends is shown as replaced altogether. */
const MOST_PAIRS = 4_000_000

type Line = { readonly mark: ' ' | '-' | '+'; readonly text: string }

/** How one text becomes another, as lines with ` `, `-` or `+` before them; `…` where equal lines are left out. */
export function compareLines(before: string, after: string): string[] {
  const all = changes(before.split('\n'), after.split('\n'))
  const near = all.map((_, i) => all.slice(Math.max(i - AROUND, 0), i + AROUND + 1).some(({ mark }) => mark !== ' '))
  const shown: string[] = []
  all.forEach(({ mark, text }, i) => {
    if (near[i]) shown.push(`${mark} ${text}`)
    else if (i === 0 || near[i - 1]) shown.push('…')
  })
  return shown
}

function changes(before: readonly string[], after: readonly string[]): Line[] {
  const shorter = Math.min(before.length, after.length)
  let head = 0
  while (head < shorter && before[head] === after[head]) head += 1
  let tail = 0
  while (tail < shorter - head && before[before.length - 1 - tail] === after[after.length - 1 - tail]) tail += 1
  return [
    ...marked(' ', before.slice(0, head)),
    ...between(before.slice(head, before.length - tail), after.slice(head, after.length - tail)),
    ...marked(' ', before.slice(before.length - tail)),
  ]
}

const marked = (mark: Line['mark'], texts: readonly string[]): Line[] => texts.map(text => ({ mark, text }))

/** The longest lines that both have in common stay. */
function between(before: readonly string[], after: readonly string[]): Line[] {
  const width = after.length + 1
  if (before.length * after.length > MOST_PAIRS) return [...marked('-', before), ...marked('+', after)]
  const common = new Uint32Array((before.length + 1) * width)
  const at = (i: number, j: number): number => common[i * width + j] ?? 0
  for (let i = before.length - 1; i >= 0; i -= 1)
    for (let j = after.length - 1; j >= 0; j -= 1)
      common[i * width + j] = before[i] === after[j] ? at(i + 1, j + 1) + 1 : Math.max(at(i + 1, j), at(i, j + 1))
  const lines: Line[] = []
  let [i, j] = [0, 0]
  while (i < before.length && j < after.length) {
    if (before[i] === after[j]) {
      lines.push({ mark: ' ', text: before[i] ?? '' })
      i += 1
      j += 1
    } else if (at(i + 1, j) >= at(i, j + 1)) lines.push({ mark: '-', text: before[i++] ?? '' })
    else lines.push({ mark: '+', text: after[j++] ?? '' })
  }
  return [...lines, ...marked('-', before.slice(i)), ...marked('+', after.slice(j))]
}
