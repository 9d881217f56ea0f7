/**
 * Splits what a process writes into lines, without ever holding more than `maxBytes` of one. Give it chunks; after
 * `tooLong` it has let go of what it held and takes nothing more.
 */
export function messageLines(
  maxBytes: number,
  line: (text: string) => void,
  tooLong: () => void,
): (chunk: Buffer) => void {
  let held: Buffer[] = []
  let size = 0
  let over = false

  function add(piece: Buffer): void {
    size += piece.length
    if (size <= maxBytes) held.push(piece)
    else {
      over = true
      held = []
      tooLong()
    }
  }

  return chunk => {
    let rest = chunk
    for (let end = rest.indexOf(NEWLINE); end !== -1 && !over; end = rest.indexOf(NEWLINE)) {
      add(rest.subarray(0, end))
      rest = rest.subarray(end + 1)
      if (over) return
      const text = Buffer.concat(held).toString()
      held = []
      size = 0
      if (text.trim() !== '') line(text)
    }
    if (!over && rest.length > 0) add(rest)
  }
}

const NEWLINE = 0x0a
