import fs from 'node:fs/promises'
import path from 'node:path'
import { isObject, type Json } from '../../../core/json.js'
import { programRoot } from '../../serving/served-config.js'

const MODULES = `${path.sep}node_modules${path.sep}`

/**
 * Where npm finds this very program: the tarball that it was installed from, or else the folder it is in. Not a name in a
 * registry: there it would be somebody else's.
 */
export async function ownPackage(root: string = programRoot): Promise<string> {
  const cut = root.lastIndexOf(MODULES)
  if (cut === -1) return root
  const installation = root.slice(0, cut)
  const given = await givenIn(path.join(installation, 'package.json'), path.basename(root))
  if (given === undefined) return root
  const place = path.resolve(installation, given)
  return (await isThere(place)) ? place : root
}

/** The path that an installation names for a package, as `npx ./assay.tgz` and `npm install ./assay.tgz` write it down. */
async function givenIn(manifest: string, name: string): Promise<string | undefined> {
  const { dependencies } = await readObject(manifest)
  const given = isObject(dependencies) ? dependencies[name] : undefined
  return typeof given === 'string' && given.startsWith('file:') ? given.slice('file:'.length) : undefined
}

/** Nothing where there is no such file, or nothing in it. */
async function readObject(file: string): Promise<{ readonly dependencies?: Json }> {
  const text = await fs.readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return '{}'
    throw error
  })
  const value = JSON.parse(text) as Json
  return isObject(value) ? value : {}
}

const isThere = (place: string): Promise<boolean> =>
  fs.stat(place).then(
    () => true,
    () => false,
  )
