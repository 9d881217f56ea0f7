import { withoutMarker } from '../markers.js'

/**
 * What a tool returned, as the next model call is told it: marked as untrusted, and unable to end the mark by itself
 * (R-TOOL-9).
 */
export const fence = (toolId: string, text: string): string =>
  `<UNTRUSTED tool="${attribute(toolId)}">${withoutMarker(text, 'UNTRUSTED')}</UNTRUSTED>`

const attribute = (text: string): string => text.replace(/[&<>"]/g, char => `&#${char.charCodeAt(0)};`)
