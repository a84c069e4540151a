/** Max characters of a provider's sentence that our messages repeat. */
const maxLength = 200;

/** Min consecutive bytes of a secret that disclose it: shorter matches occur by chance. */
const minDisclosedLength = 8;

/**
 * A provider's sentence, made safe for our messages: one line, printable, bounded. Null when nothing is left, or
 * when it contains part of a secret of the request, in any case or encoding.
 */
export function safeMessage(text: string | null, secrets: readonly string[]): string | null {
  if (text === null || secrets.some((secret) => discloses(text, secret))) return null;
  const line = text
    .normalize('NFC')
    .replace(/[^\p{L}\p{N}\p{P}\p{S}]+/gu, ' ')
    .trim();
  if (line === '') return null;
  return line.length > maxLength ? `${line.slice(0, maxLength).toWellFormed()}…` : line;
}

function discloses(text: string, secret: string): boolean {
  if (secret === '') return false;
  // Removes all separators, so that spacing hides no secret.
  const condensed = condense(text);
  const forms = [secret, encodeURIComponent(secret), base64(secret), base64(secret).replace(/=+$/, '')];
  return forms.some((form) => pieces(condense(form)).some((piece) => condensed.includes(piece)));
}

function pieces(secret: string): readonly string[] {
  const count = Math.max(1, secret.length - minDisclosedLength + 1);
  return Array.from({ length: count }, (_, at) => secret.slice(at, at + minDisclosedLength));
}

const condense = (text: string): string => text.toLowerCase().replace(/[^\p{L}\p{N}\p{P}\p{S}]+/gu, '');
const base64 = (text: string): string => Buffer.from(text.toWellFormed(), 'utf8').toString('base64');
