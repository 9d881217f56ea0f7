/** A URL and everything below it, as the operator wrote it. */
export type UrlPrefix = { readonly origin: string; readonly path: string }

/** Undefined when the text is no prefix that could be matched safely. */
export function readPrefix(text: string): UrlPrefix | undefined {
  const url = parse(text)
  if (url === undefined || url.search !== '' || hasHiddenSteps(url.pathname)) return undefined
  return { origin: url.origin, path: url.pathname.replace(/\/+$/, '') }
}

/**
 * The URL, in its canonical spelling, when it is one of the prefixes or below it. Scheme, host and port must be the
 * same and paths are compared by whole steps, so that neither `https://good.example.evil.org` nor `/public-not` passes
 * for what it begins with. Below a path, a URL with escaped separators is none: the server might climb out with them.
 */
export function allowedUrl(text: string, prefixes: readonly UrlPrefix[]): string | undefined {
  const url = parse(text)
  if (url === undefined) return undefined
  const fits = prefixes.some(({ origin, path }) => {
    if (url.origin !== origin) return false
    if (path === '') return true
    return (url.pathname === path || url.pathname.startsWith(`${path}/`)) && !hasHiddenSteps(url.pathname)
  })
  return fits ? url.href : undefined
}

function parse(text: string): URL | undefined {
  // The parser drops tabs and line breaks and trims; whoever sends them means to be misread.
  if (/[\s\p{Cc}]/u.test(text) || !URL.canParse(text)) return undefined
  const url = new URL(text)
  if (url.protocol !== 'https:' && url.protocol !== 'http:') return undefined
  return url.username !== '' || url.password !== '' || url.href.includes('#') ? undefined : url
}

/** Escaped `/`, `\`, `%` and NUL, and `..;`, which some servers take for steps; `..` itself the parser has resolved. */
const hasHiddenSteps = (path: string): boolean => /%(?:2f|5c|25|00)|\/\.{1,2};/i.test(path)
