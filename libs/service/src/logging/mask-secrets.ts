/**
 * The last resort before a log line leaves the process: whatever looks like a secret is masked, wherever it stands.
 * Nothing relies on it; messages are written without secrets in the first place.
 */
const patterns: readonly (readonly [RegExp, string])[] = [
  // Members that hold secrets, or a CSR, which a customer has told nobody but us; at any depth, as text or list.
  [
    /"(authorization|cookie|set-cookie|password|api_key|apiKey|secret|csr)":(?:"[^"\\]*(?:\\.[^"\\]*)*"|\[[^\]]*\])/gi,
    '"$1":"[masked]"',
  ],
  // An API key: account id, underscore, base64url of 24 random bytes, which is 32 characters.
  [/_[\w-]{32}(?![\w-])/g, '_[masked]'],
  // A handle of the DNS gateway.
  [/\bcw([ir])1\.[\w-]{16,}/g, 'cw$11.[masked]'],
  // The value of an Authorization header (RFC 9110 §11.4).
  [/\b(Bearer|Basic)\s+[A-Za-z0-9._~+/-]+=*/gi, '$1 [masked]'],
  // User information in a URL (RFC 3986 §3.2.1), as in the URL of a database.
  [/:\/\/[^/\s"@]+@/g, '://[masked]@'],
  // PEM: a private key, or a CSR. A text in JSON ends at the quote, so that what follows stays JSON.
  [
    /-----BEGIN ([A-Z0-9 ]{0,30}(?:PRIVATE KEY|REQUEST))-----[^"]*?(?:-----END \1-----|(?=")|$)/g,
    '[masked $1]',
  ],
];

export function maskSecrets(line: string): string {
  let masked = line;
  for (const [pattern, mask] of patterns) masked = masked.replace(pattern, mask);
  return masked;
}
