import type { CallToolResult, ContentBlock } from '@modelcontextprotocol/client'
import type { Json } from '../../../core/json.js'
import type { ToolSaid } from '../host-tool.js'

/** What a server's result says in text. What is not text becomes a note of its kind and size. */
export function saidOf({ content, structuredContent, isError }: CallToolResult): ToolSaid {
  const parts = content.map(partText)
  let text = parts.join('\n')
  if (structuredContent !== undefined) {
    try {
      const json = JSON.stringify(structuredContent)
      // Servers say the same once more in text, for clients that do not know of structured results.
      const echoes = [json, JSON.stringify(structuredContent, null, 2)]
      text = [json, ...parts.filter(part => !echoes.includes(part))].join('\n')
    } catch {
      return { ok: false, code: 'tool_result_invalid', text: 'The result is nested too deeply.' }
    }
  }
  if (isError === true) return { ok: false, code: 'tool_failed', text }
  return { ok: true, text, ...(structuredContent !== undefined && { value: structuredContent as Json }) }
}

function partText(part: ContentBlock): string {
  switch (part.type) {
    case 'text':
      return part.text
    case 'image':
    case 'audio':
      return note(part.mimeType, part.data)
    case 'resource_link':
      return `[link to ${part.uri}]`
    case 'resource':
      return 'text' in part.resource ? part.resource.text : note(part.resource.mimeType, part.resource.blob)
  }
}

const note = (type: string | undefined, base64: string): string =>
  `[${type ?? 'binary'}, ${Buffer.byteLength(base64, 'base64')} bytes]`
