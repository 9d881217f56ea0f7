// A host in a process of its own, with or without some of its bounds. What takes bounds away is a part that only a program
// which embeds a host can give; no setting, flag or variable of a served host leads there.
import { loadConfig } from '../dist/config.js'
import { createHost } from '../dist/host.js'

const [, , data, port, unbounded] = process.argv
const config = loadConfig({ data, port, 'log.level': 'error' }, {}, data)
const host = await createHost(config, { unbounded: JSON.parse(unbounded) })
await host.start()
process.on('SIGTERM', () => host.stop().then(() => process.exit(0)))
process.send?.('ready')
