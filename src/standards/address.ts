import { type Annotations, TextWhere } from '../core/schema/kinds.js'

/** An address without user name and password: those would be a secret written down, so it is not repeated either. */
export const PublicAddress = (more: Annotations = {}) =>
  TextWhere('an http:// or https:// address of at most 2048 characters, without user name and password', isPublic, {
    'x-unquoted': true,
    ...more,
  })

function isPublic(text: string): boolean {
  if (text.length > 2048 || !URL.canParse(text)) return false
  const { protocol, username, password } = new URL(text)
  return /^https?:$/.test(protocol) && username === '' && password === ''
}
