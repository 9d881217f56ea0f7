/** Version of the rules in this folder, as runs record it. Raised when an old log would fold or continue differently. */
export const ENGINE_VERSION = '3'
