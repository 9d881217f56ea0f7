/**
 * What a tool returned, as the next model call is told it: marked as untrusted, and unable to end the mark by itself
 * (R-TOOL-9).
 */
export const fence = (toolId: string, text: string): string =>
  `<UNTRUSTED tool="${attribute(toolId)}">${text.replace(DELIMITER, '&lt;$1')}</UNTRUSTED>`

/** Both delimiters in any case, also with space or invisible characters where a lenient reader would not see them. */
const DELIMITER = /<([\s\p{Cf}]*\/?[\s\p{Cf}]*UNTRUSTED)/giu

const attribute = (text: string): string => text.replace(/[&<>"]/g, char => `&#${char.charCodeAt(0)};`)
