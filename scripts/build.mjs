/** Generated files, then dist/ from nothing: what a release is made of. */
import { generate } from './generate.mjs'
import { setup } from './setup.mjs'

for (const file of generate()) process.stdout.write(`wrote ${file}\n`)
await setup({ clean: true })
