import fs from 'node:fs'
import path from 'node:path'
import { isObject, type JsonObject } from '../core/json.js'
import { DocumentError, parseDocument } from './document.js'

export const CONFIG_FILES: readonly string[] = ['assay.config.json', 'assay.config.yaml', 'assay.config.yml']

/** True for a folder that looks like a project: it has a configuration file, or a folder of workflows or agents. */
export const isProjectFolder = (dir: string): boolean =>
  [...CONFIG_FILES, 'workflows', 'agents'].some(name => fs.existsSync(path.join(dir, name)))

/** The project's configuration file, or undefined when it has none. Two of them are an error: neither would win. */
export function readConfigFile(dir: string): { file: string; settings: JsonObject } | undefined {
  const found = CONFIG_FILES.filter(name => fs.existsSync(path.join(dir, name)))
  if (found.length > 1) throw new DocumentError(`${dir}: has ${found.join(' and ')}; keep one of them`)
  const [name] = found
  if (name === undefined) return undefined
  const file = path.join(dir, name)
  const text = fs.readFileSync(file, 'utf8')
  if (text.trim() === '') return { file, settings: {} }
  const settings = parseDocument(text, file)
  if (!isObject(settings)) throw new DocumentError(`${file}: must hold an object of settings`)
  return { file, settings }
}
