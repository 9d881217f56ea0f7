import { endOfString } from './repeated-key.js'

/** JSON that others wrote, looked at before and after it is parsed, for what later code would have to be careful with. */

/** Nesting depth (no further than just over `maxDepth`) and the number of object members, without parsing. */
export function measureJson(text: string, maxDepth: number): { depth: number; members: number } {
  let depth = 0
  let deepest = 0
  let members = 0
  for (let i = 0; i < text.length; i++) {
    switch (text.charCodeAt(i)) {
      case 34: // "
        i = endOfString(text, i)
        break
      case 58: // :
        members++
        break
      case 91: // [
      case 123: // {
        if (++depth > deepest) deepest = depth
        if (deepest > maxDepth) return { depth: deepest, members }
        break
      case 93: // ]
      case 125: // }
        depth--
    }
  }
  return { depth: deepest, members }
}

/** `fault` goes on where a sentence names what was looked at. */
type Found = { members: number; fault?: string }

/** Counts members as parsed and looks for keys and strings that must not get further. */
export function inspectJson(root: unknown, checkStrings: boolean): Found {
  const found: Found = { members: 0 }
  const visit = (value: unknown): void => {
    if (typeof value === 'string') {
      if (checkStrings && LONE_SURROGATE.test(value)) found.fault = 'contains a lone surrogate'
      return
    }
    if (typeof value === 'number' && !Number.isFinite(value))
      found.fault = 'holds a number that is too large; send it as text'
    if (typeof value !== 'object' || value === null) return
    if (Array.isArray(value)) {
      for (const item of value) visit(item)
      return
    }
    for (const key of Object.keys(value)) {
      found.members++
      if (checkStrings) visit(key)
      if (isPoison(key, value)) found.fault = `uses the reserved key ${JSON.stringify(key)}`
      visit((value as { [key: string]: unknown })[key])
    }
  }
  visit(root)
  return found
}

const LONE_SURROGATE = /\p{Surrogate}/u

function isPoison(key: string, holder: object): boolean {
  if (key === '__proto__') return true
  if (key !== 'constructor') return false
  const value = (holder as { constructor: unknown }).constructor
  return typeof value === 'object' && value !== null && Object.hasOwn(value, 'prototype')
}
