import { isObject, type Json } from '../../core/json.js'

/**
 * A model's words without what moves cursors, rings bells or cannot be stored: of the control characters only line
 * breaks and tabs are left, and halves of surrogate pairs become the replacement character.
 */
export const cleanText = (text: string): string => text.replace(/(?![\n\t])\p{Cc}/gu, '').replace(/\p{Cs}/gu, '\ufffd')

/** The same in every text of a value, names included; names lose line breaks and tabs, too. */
export function cleanJson(value: Json): Json {
  if (typeof value === 'string') return cleanText(value)
  if (Array.isArray(value)) return value.map(cleanJson)
  if (!isObject(value)) return value
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [cleanName(name), cleanJson(item)]))
}

const cleanName = (name: string): string => cleanText(name).replace(/[\n\t]/g, '')
