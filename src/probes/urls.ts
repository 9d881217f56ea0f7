/** The addresses of web pages in a text, as they are written there, each once. */
export const urlsIn = (text: string): readonly string[] => [
  ...new Set([...text.matchAll(URLS)].map(([url]) => withoutPunctuation(url))),
]

const URLS = /\bhttps?:\/\/[^\s<>"'`[\]{}|\\^]+/gi

/** What ends a sentence or a bracket around an address is no part of it; brackets that it opens itself are. */
function withoutPunctuation(url: string): string {
  let end = url.length
  let open = count(url, '(') - count(url, ')')
  while (end > 0) {
    const last = url[end - 1] ?? ''
    if (last === ')' && open < 0) open += 1
    else if (!PUNCTUATION.includes(last)) break
    end -= 1
  }
  return url.slice(0, end)
}

const PUNCTUATION = '.,;:!?*'

const count = (text: string, part: string): number => text.split(part).length - 1

/** One spelling for all that name the same page: what follows `#`, and a slash at the end, make no difference. */
export function pageOf(url: string): string {
  const trimmed = withoutPunctuation(url)
  if (!URL.canParse(trimmed)) return trimmed
  const page = new URL(trimmed)
  page.hash = ''
  return page.href.replace(/\/$/, '')
}

export const isUrl = (text: string): boolean => /^https?:\/\//i.test(text)
