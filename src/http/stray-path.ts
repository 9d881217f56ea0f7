import { refuse } from '../core/problem.js'
import { type HttpAnswer, problem } from './http-answer.js'
import { pathPattern, type Route } from './route.js'

const NOT_FOUND = problem(refuse('not_found', 'No such path; GET /v1/openapi.json lists them all.'))
const UNVERSIONED = problem(refuse('unsupported_version', 'This path has no protocol version; put /v1 in front of it.'))

/** The answer to a request that no route takes: wrong method, missing version, or nothing at all. */
export function strayAnswer(table: readonly Route[]): (method: string, url: string) => HttpAnswer {
  const patterns = table.map(route => ({ method: route.method, pattern: pathPattern(route.path) }))
  const roots = new Set(table.map(route => versionedRoot(route.path)))

  return (_method, url) => {
    const path = url.split('?', 1)[0] as string
    const allowed = patterns.filter(({ pattern }) => pattern.test(path)).map(({ method }) => method)
    if (allowed.length > 0) {
      const allow = [...new Set(allowed)].join(', ')
      const message = `This path takes ${allow} only.`
      return problem(refuse('method_not_allowed', message, { allow: allow.split(', ') }), { allow })
    }
    const root = /^\/([\w.-]+)/.exec(path)?.[1]
    return root !== undefined && roots.has(root) ? UNVERSIONED : NOT_FOUND
  }
}

/** `runs` for `/v1/runs/…`: a request for `/runs/…` forgot the version. */
const versionedRoot = (path: string): string | undefined => /^\/v1\/([\w.-]+)/.exec(path)?.[1]
