/** Does what may take a while, such as asking servers; nobody waits for it any more when the reader has gone. */
export async function whileConnected<T>(
  socket: NodeJS.EventEmitter,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const gone = new AbortController()
  const leave = () => gone.abort()
  socket.once('close', leave)
  try {
    return await work(gone.signal)
  } finally {
    socket.off('close', leave)
  }
}
