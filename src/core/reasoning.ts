/** A token is about four characters; a summary has at most so many of them. */
export const SUMMARY_TOKENS = 512
const TOKEN_CHARACTERS = 4

/** R-EVENT-5: the reasoning as far as a summary goes, cut between words. */
export function summaryOf(text: string): string {
  const most = SUMMARY_TOKENS * TOKEN_CHARACTERS
  if (text.length <= most) return text
  const cut = text.slice(0, most - 1)
  const end = cut.lastIndexOf(' ')
  return `${cut.slice(0, end > most / 2 ? end : undefined)}…`
}
