import fs from 'node:fs'
import path from 'node:path'
import { expect, test } from 'vitest'
import { freePort } from '../support/free-port.js'
import { startAssay, temporaryFolder, until } from './assay-process.js'
import { runHere } from './command-line.js'

const workflow = (said: string) => `
nodes:
  - { id: end, typeId: core.end, inputs: { said: { type: static, value: ${said} } } }
`

test('`assay dev` serves, takes up what changes, says why not where it does not, and drains', async () => {
  const folder = temporaryFolder()
  const project = path.join(folder, 'project')
  const data = path.join(folder, 'data')
  const file = path.join(project, 'workflows/say.yaml')
  fs.mkdirSync(path.dirname(file), { recursive: true })
  fs.writeFileSync(file, workflow('one'))
  const dev = startAssay(['dev', '--project', project, '--data', data, '--port', String(await freePort())])
  try {
    await until(dev, /changes in .*project are taken up/)
    const said = async () => JSON.parse((await runHere(['--data', data, 'run', 'say', '--wait'])).stdout).said
    expect(await said()).toBe('one')
    fs.writeFileSync(file, workflow('two'))
    await until(dev, /taken up: workflows\/say\.yaml changed/)
    expect(await said()).toBe('two')
    fs.writeFileSync(file, 'nodes: [')
    await until(dev, /error: .*say\.yaml: not valid YAML.*\nnothing is taken up: the host goes on with what it had/)
    expect(await said()).toBe('two')
    // A folder that was not there when it began to watch.
    fs.writeFileSync(file, workflow('three'))
    fs.mkdirSync(path.join(project, 'agents'))
    fs.writeFileSync(path.join(project, 'agents/clerk.md'), '---\nmodelClass: general\n---\nYou write.\n')
    await until(dev, /taken up: agents\/clerk\.md added/)
    await expect.poll(said, { timeout: 60_000 }).toBe('three')
    dev.child.kill('SIGINT')
    expect(await dev.done).toMatchObject({ code: 0 })
  } finally {
    dev.child.kill('SIGKILL')
    fs.rmSync(folder, { recursive: true })
  }
}, 300_000)
