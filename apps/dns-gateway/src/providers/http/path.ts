import { ProviderFault } from '../provider-fault';

/**
 * The path of a URL. Every inserted value becomes one segment, whatever characters it contains:
 * path`/zones/${zone.id}/records`
 */
export function path(texts: TemplateStringsArray, ...values: readonly string[]): string {
  return texts.reduce((done, text, at) => `${done}${segment(values[at - 1] ?? '')}${text}`);
}

function segment(value: string): string {
  // WHATWG URL: such segments are resolved, encoded or not, which would change the request's path.
  if (value === '' || value === '.' || value === '..') {
    throw new ProviderFault('unavailable', 'The DNS provider has an identifier that a URL cannot contain.');
  }
  return encodeURIComponent(value.toWellFormed());
}
