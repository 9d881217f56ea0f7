import type { RunEventDoc } from '../../client/wire-shapes.js'
import { advanceProgress, eventLine, frame, noProgress, type Progress } from '../progress/progress.js'
import type { Terminal } from './terminal.js'

/** Shows a run while it goes on. */
export type LiveView = {
  readonly show: (event: RunEventDoc) => void
  /** Leaves the picture standing, so that something else can be written below it; `show` goes on below that. */
  readonly rest: () => void
  /** Leaves the last picture standing and returns what was learnt. */
  readonly end: () => Progress
}

const REDRAW_MS = 80

/** A picture redrawn in place on a screen; elsewhere one line per event, or nothing at all when `quiet`. */
export function runView(terminal: Terminal, title: string, quiet: boolean): LiveView {
  return terminal.isLive ? liveView(terminal, title) : plainView(terminal, title, quiet)
}

function plainView(terminal: Terminal, title: string, quiet: boolean): LiveView {
  let progress = noProgress(title)
  return {
    show: event => {
      progress = advanceProgress(progress, event)
      if (!quiet) terminal.note(eventLine(event))
    },
    rest: () => undefined,
    end: () => progress,
  }
}

function liveView(terminal: Terminal, title: string): LiveView {
  let progress = noProgress(title)
  let tick = 0
  let drawn = 0
  const draw = () => {
    const lines = frame(progress, tick++).map(line => clipLine(line, terminal.columns))
    const up = drawn > 0 ? `\u001b[${drawn}A` : ''
    terminal.draw(`${up}\u001b[J${lines.join('\n')}\n`)
    drawn = lines.length
  }
  let timer: NodeJS.Timeout | undefined
  let isResting = false
  const stop = () => {
    clearInterval(timer)
    timer = undefined
    draw()
  }
  return {
    show: event => {
      isResting = false
      timer ??= setInterval(draw, REDRAW_MS)
      progress = advanceProgress(progress, event)
    },
    rest: () => {
      stop()
      drawn = 0
      isResting = true
    },
    end: () => {
      if (!isResting) stop()
      return progress
    },
  }
}

/** Cuts a line to the screen's width, so that it never wraps; colour codes take no room and are all kept. */
export function clipLine(line: string, columns: number): string {
  const [plain = '', ...coloured] = line.split('\u001b')
  let room = columns - 1
  const cut = (text: string): string => {
    const kept = [...text].slice(0, room)
    room -= kept.length
    return kept.join('')
  }
  return coloured.reduce((done, part) => {
    const text = part.indexOf('m') + 1
    return `${done}\u001b${part.slice(0, text)}${cut(part.slice(text))}`
  }, cut(plain))
}
