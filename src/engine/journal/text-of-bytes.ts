/** Undefined where the bytes are no text. */
export function textOfBytes(bytes: Uint8Array): string | undefined {
  if (bytes.includes(0)) return undefined
  try {
    return UTF8.decode(bytes)
  } catch (error) {
    if (!(error instanceof TypeError)) throw error
    return undefined
  }
}

const UTF8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })
