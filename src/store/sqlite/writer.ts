import { parentPort, workerData } from 'node:worker_threads'
import { BatchWriter } from './batch-writer.js'
import type { Task, WriterSettings } from './tasks.js'

/** Entry point of the writer thread: a message is a batch of tasks, or null to finish. */

const port = parentPort
if (port === null) throw new Error('writer.js runs as a worker thread only')

const writer = new BatchWriter(workerData as WriterSettings)

port.on('message', (tasks: readonly Task[] | null) => {
  if (tasks !== null) {
    port.postMessage(writer.run(tasks))
    return
  }
  writer.close()
  port.close()
})
