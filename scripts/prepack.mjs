/**
 * What `npm pack` packs: dist/ from nothing, and of it only what the command and the entry points of package.json reach,
 * and the declarations that those of the entry points reach. The rest is for tests of this repository. What is left is
 * no build to work with: the next command in this folder builds again.
 */
import fs from 'node:fs'
import path from 'node:path'
import { generate } from './generate.mjs'
import { root, setup } from './setup.mjs'

const COMMAND = 'cli/main.js'
const dist = path.join(root, 'dist')

for (const file of generate()) process.stderr.write(`assay: wrote ${file}\n`)
await setup({ clean: true })
prune()

function prune() {
  const { exports } = JSON.parse(fs.readFileSync(path.join(root, 'package.json'), 'utf8'))
  const entries = condition =>
    Object.values(exports).flatMap(entry => (entry[condition] ? [path.posix.relative('dist', entry[condition])] : []))
  const kept = new Set([
    ...reachable([COMMAND, ...entries('default')], name => name),
    ...reachable(entries('types'), name => name.replace(/\.js$/, '.d.ts')),
  ])
  for (const name of fs.readdirSync(dist, { recursive: true }).map(name => name.split(path.sep).join('/'))) {
    const isModule = /\.(js|d\.ts)$/.test(name)
    // Files with a dot in front say how far a build has come.
    if ((isModule && !kept.has(name)) || name.startsWith('.')) fs.rmSync(path.join(dist, name))
  }
}

/** Those modules, and every module whose path a reached one has in quotes: imported, or run in a thread of its own. */
function reachable(entries, fileOf) {
  const reached = new Set(entries)
  for (const name of reached) {
    const text = fs.readFileSync(path.join(dist, name), 'utf8')
    for (const [, , wanted] of text.matchAll(/(['"`])(\.{1,2}\/[^'"`\s]+\.js)\1/g)) {
      const file = fileOf(path.posix.relative('dist', path.posix.join('dist', path.posix.dirname(name), wanted)))
      if (fs.existsSync(path.join(dist, file))) reached.add(file)
    }
  }
  return reached
}
